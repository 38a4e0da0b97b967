"""An accelerated operator is known in one file: no layer below the templates names any."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.machines.accelerator.target import TEMPLATES
from tandem.compiler.plan.pattern import inner_patterns

ROOT = Path(__file__).parents[2]
BELOW = (
    *(f"compiler/{name}" for name in ("lower", "ir", "te", "graph")),
    *(f"compiler/machines/{name}" for name in ("accelerator/lower", "cpu/codegen")),
    "runtime",
)
LANGUAGE = {"cast"}
"""What the loop language has itself."""
ACCELERATED = {
    operator
    for template in TEMPLATES
    for pattern in template.patterns
    for operator in (pattern.operator, *(inner.operator for inner in inner_patterns(pattern)))
} - LANGUAGE


def named(tree: ast.AST) -> Iterator[str]:
    """Identifiers, parts of imported names, and strings that are one word."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.ImportFrom(module=str(module)):
                yield from module.split(".")
                yield from (each.name for each in node.names)
            case ast.Constant(value=str(text)):
                yield text
            case _:
                pass


def files(folder: str) -> list[Path]:
    found = [each for each in (ROOT / folder).rglob("*.py") if "graph/operators" not in str(each)]
    assert found
    return found


def test_there_are_such_operators() -> None:
    assert {"conv2d", "dense", "max_pool", "requantise"} <= ACCELERATED <= OPERATORS.keys()


@pytest.mark.parametrize("folder", BELOW)
def test_no_layer_below_names_an_operator(folder: str) -> None:
    for path in files(folder):
        assert not ACCELERATED & set(named(ast.parse(path.read_text()))), path


def test_each_template_is_one_file() -> None:
    homes = [type(template).__module__ for template in TEMPLATES]
    assert len(set(homes)) == len(TEMPLATES)
