"""Compiled expressions against an evaluator of their trees: Python's integers, cut to 64 bits."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.base.jit import CompilationError
from tests.support.base.written_modules import written

OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "FloorDiv": lambda a, b: a // b if b else 0,
    "Mod": lambda a, b: a % b if b else 0,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Gt": operator.gt,
    "GtE": operator.ge,
}
SYMBOLS = ("+", "-", "*", "&", "|", "^", "//", "%")
COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")
EXTREMES = (0, 1, -1, 2, 3, -7, 1 << 31, -(1 << 63), (1 << 63) - 1)
NUMBERS = st.one_of(st.sampled_from(EXTREMES), st.integers(-(1 << 63), (1 << 63) - 1))


def wrapped(value: int) -> int:
    return (int(value) + (1 << 63)) % (1 << 64) - (1 << 63)


def evaluate(node: ast.expr, names: dict[str, int]) -> int:
    """What the expression means."""
    match node:
        case ast.Constant():
            assert isinstance(node.value, int)
            return node.value
        case ast.Name():
            return names[node.id]
        case ast.BinOp():
            a, b = evaluate(node.left, names), evaluate(node.right, names)
            return wrapped(OPERATIONS[type(node.op).__name__](a, b))
        case ast.UnaryOp(op=ast.USub()):
            return wrapped(-evaluate(node.operand, names))
        case ast.UnaryOp(op=ast.Invert()):
            return ~evaluate(node.operand, names)
        case ast.UnaryOp(op=ast.Not()):
            return not evaluate(node.operand, names)
        case ast.Compare():
            values = [evaluate(each, names) for each in (node.left, *node.comparators)]
            pairs = zip(node.ops, values[:-1], values[1:], strict=True)
            return all(OPERATIONS[type(op).__name__](a, b) for op, a, b in pairs)
        case ast.BoolOp(op=ast.And()):
            a, b = (evaluate(each, names) for each in node.values)
            return a and b
        case ast.BoolOp():
            a, b = (evaluate(each, names) for each in node.values)
            return a or b
        case ast.IfExp():
            return evaluate(node.body if evaluate(node.test, names) else node.orelse, names)
        case ast.Call(func=ast.Name(id=name)):
            values = [evaluate(each, names) for each in node.args]
            if name == "divmod":
                a, b = values
                return wrapped(a // b if b else 0)
            if name == "abs":
                return wrapped(abs(values[0]))
            return min(values) if name == "min" else max(values)
        case ast.Subscript(value=called, slice=ast.Constant(value=0)):
            return evaluate(called, names)
    raise AssertionError(ast.dump(node))


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(SYMBOLS), inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(("<<", ">>")), st.integers(0, 63)),
        st.builds("({} {} {})".format, inner, st.sampled_from(COMPARISONS), inner),
        st.builds("({} < {} <= {})".format, inner, inner, inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(("and", "or")), inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("({} {})".format, st.sampled_from(("-", "~", "not")), inner),
        st.builds("{}({}, {})".format, st.sampled_from(("min", "max")), inner, inner),
        st.builds("abs({})".format, inner),
        st.builds("divmod({}, {})[0]".format, inner, inner),
    )


EXPRESSIONS = st.recursive(
    st.one_of(st.sampled_from("abc"), st.sampled_from((0, 1, 2, 8, 9, 1 << 40)).map(str)),
    _compound,
    max_leaves=10,
)


def _is_beyond(node: ast.AST) -> bool:
    """Whether it is a constant expression of more than 64 bits."""
    if not isinstance(node, ast.expr) or any(isinstance(each, ast.Name) for each in ast.walk(node)):
        return False
    with suppress(ZeroDivisionError):
        value = eval(compile(ast.Expression(node), "constant", "eval"), {})
        return isinstance(value, int) and wrapped(value) != value
    return False


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("written")


@given(
    text=EXPRESSIONS,
    values=st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=5, max_size=5),
)
def test_random_expressions(folder: Path, text: str, values: list[tuple[int, int, int]]) -> None:
    module: Any = written(
        folder, f"@compiled\ndef found(a: int, b: int, c: int) -> int:\n    return {text}\n"
    )
    tree = ast.parse(text, mode="eval").body
    if any(_is_beyond(node) for node in ast.walk(tree)):
        # A constant is refused where it is computed when it is compiled, and else cut.
        with suppress(CompilationError):
            module.found(0, 0, 0)
        return
    for a, b, c in values:
        expected = evaluate(tree, {"a": a, "b": b, "c": c})
        assert module.found(a, b, c) == int(expected), (text, a, b, c)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x / 4", 0.625),
        ("x * 2 - 1", 4.0),
        ("int(x)", 2.0),
        ("-x", -2.5),
        ("abs(-x)", 2.5),
        ("max(x, 1, 3)", 3.0),
        ("float(7 // 2)", 3.0),
        ("x < 3", 1.0),
        ("x / 0", float("inf")),
        ("bool(x) + True", 2.0),
    ],
)
def test_floating_point(folder: Path, text: str, value: float) -> None:
    """The values are Python's, but for the division by zero, which is IEEE 754's."""
    module: Any = written(folder, f"@compiled\ndef found(x: float) -> float:\n    return {text}\n")
    assert module.found(2.5) == value
