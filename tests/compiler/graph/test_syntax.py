"""Names of graphs."""

from __future__ import annotations

import pytest

from tandem.compiler.graph.syntax import dtype_named, is_name, unique_name
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, INT8


def test_types_by_name() -> None:
    assert dtype_named("int8") == INT8
    assert dtype_named("float32") == FLOAT32
    assert dtype_named("bool") == BOOL
    for text in ("int", "float31", "x", "", "int" + "9" * 5000):
        assert dtype_named(text) is None


@pytest.mark.parametrize(
    ("text", "legal"),
    [
        ("x", True),
        ("x_1", True),
        ("_", True),
        # Words that what follows tells from names.
        ("fun", True),
        ("match", True),
        ("grad", True),
        ("float", True),
        ("1x", False),
        ("", False),
        ("x.y", False),
        ("x y", False),
        ("é", False),
        ("if", False),
        ("yield", False),
        ("kernel", False),
        ("inf", False),
        ("True", False),
        ("int8", False),
        ("bool", False),
    ],
)
def test_what_is_a_name(text: str, legal: bool) -> None:
    assert is_name(text) is legal


def test_new_names() -> None:
    taken = {"x", "x_1", "x_3"}
    assert [unique_name("x", taken) for _ in range(3)] == ["x_2", "x_4", "x_5"]
    assert unique_name("y", taken) == "y"
    assert unique_name("y", taken) == "y_1"
    assert taken == {"x", "x_1", "x_2", "x_3", "x_4", "x_5", "y", "y_1"}
