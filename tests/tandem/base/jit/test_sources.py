"""Digests of functions to compile: what changes what they do changes them, and nothing else."""

from __future__ import annotations

import ast
import math
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from tandem.base.jit.errors import CompilationError
from tandem.base.jit.sources import Source, digest_of, tree_of

CALLED = "def g(x):\n    return x * 2\n"
PLAIN = "def f(x: int) -> int:\n    return g(x.first) + math.floor(STEP) + x[:2]\n"


class Wrapped:
    """A function with a decorator of `base.jit`."""

    def __init__(self, python: FunctionType, inline: bool = False) -> None:
        self.source = Source(python, inline)


def function(text: str, name: str, **names: Any) -> FunctionType:
    """The function of that name that a text defines; its names mean what is given."""
    exec(text, names)
    made = names[name]
    assert isinstance(made, FunctionType)
    return made


def digest(
    text: str = PLAIN, called: str = CALLED, llvm: str = "", inline: bool = False, **names: Any
) -> str:
    """The digest of a function that calls another one."""
    given = {"math": math, "STEP": 3, "g": Wrapped(function(called, "g")), **names}
    return digest_of(Source(function(text, "f", **given), inline, llvm))


OTHERS: dict[str, dict[str, Any]] = {
    "an attribute": {"text": PLAIN.replace("first", "other")},
    "a function of a module": {"text": PLAIN.replace("floor", "ceil")},
    "a module": {"math": np},
    "a constant": {"text": PLAIN.replace("2", "3")},
    "an operation": {"text": PLAIN.replace("+ x", "- x")},
    "what is returned": {"text": PLAIN.replace("-> int", "-> float")},
    "a number": {"STEP": 1},
    "a truth": {"STEP": True},
    "a float": {"STEP": 3.0},
    "an item": {"STEP": (3,)},
    "items": {"STEP": (3, 3)},
    "what is called": {"called": CALLED.replace("2", "3")},
    "how it is called": {"g": Wrapped(function(CALLED, "g"), inline=True)},
    "whether it is inlined": {"inline": True},
    "what it is for LLVM": {"llvm": "ret i64 %p0"},
}


def test_what_a_function_does_changes_its_digest() -> None:
    digests = {"": digest(), **{name: digest(**given) for name, given in OTHERS.items()}}
    assert len({*digests.values()}) == len(digests)


@pytest.mark.parametrize(
    "text",
    [PLAIN, f"\n\n# A remark.\n{PLAIN}", PLAIN.replace("x[:2]", "(\n        x[:2])")],
    ids=["copied", "elsewhere", "in two lines"],
)
def test_where_it_stands_does_not(text: str) -> None:
    assert digest(text) == digest()


def test_types_of_arguments_do_not() -> None:
    """They are those of calls."""
    assert digest(PLAIN.replace("x: int", "x: float")) == digest()


def test_functions_that_call_each_other() -> None:
    def pair(last: int) -> str:
        first = function("def f(x):\n    return g(x)\n", "f")
        text = f"def g(x):\n    return f(x) if x else {last}\n"
        first.__globals__["g"] = Wrapped(function(text, "g", f=Wrapped(first)))
        return digest_of(Source(first))

    assert pair(1) == pair(1) != pair(2)


def in_file(path: Path, text: str) -> FunctionType:
    """The function `f` of a file that is written with a text and imported."""
    path.write_text(text)
    names: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), names)
    found = names["f"]
    assert isinstance(found, FunctionType)
    return found


def test_the_tree_of_a_function_in_a_file(tmp_path: Path) -> None:
    text = "def f(x):\n    def g(y):\n        return y\n    return g(x) + 7\n"
    tree = tree_of(in_file(tmp_path / "own.py", text))
    assert ast.dump(tree) == ast.dump(ast.parse(text).body[0])


@pytest.mark.parametrize(
    "edited",
    [
        "def f(x):\n    return x + 8\n",
        "def f(x):\n    return x - 7\n",
        "def f(x):\n    return y + 7\n",
        "def f(y):\n    return y + 7\n",
        "\ndef f(x):\n    return x + 7\n",
        "def g(x):\n    return x + 7\n",
    ],
)
def test_a_file_that_was_edited_since_it_was_imported(edited: str, tmp_path: Path) -> None:
    """The same place and name are not enough: a constant, an operator or a name differ."""
    path = tmp_path / "own.py"
    function = in_file(path, "def f(x):\n    return x + 7\n")
    path.write_text(edited)
    with pytest.raises(CompilationError, match="or has changed since it was imported: start again"):
        tree_of(function)
