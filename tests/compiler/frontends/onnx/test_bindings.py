"""Open extents of inputs, in all the ways in which models leave them open, and what is stated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from onnx import ModelProto, TensorProto, ValueInfoProto, helper

from tandem.compiler.errors import FrontendError
from tandem.compiler.frontends.onnx import (
    StatedShape,
    has_open_extents,
    input_types,
    stated_by_arrays,
)

Declared = Sequence[int | str | None] | None


def info(name: str, shape: Declared) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def types(inputs: dict[str, Declared], *stated: StatedShape, **options: bool) -> list[str]:
    found = input_types([info(*each) for each in inputs.items()], stated, **options)
    return [str(each).removeprefix("float32") for each in found.values()]


def shape(name: str, *extents: int | None, source: str = "--shape") -> StatedShape:
    return StatedShape(name, extents, source)


@pytest.mark.parametrize(
    ("declared", "symbols"),
    [
        (["n", 3, "h", "w"], "[n, 3, h, w]"),
        (["n", 3, "s", "s"], "[n, 3, s, s]"),
        ([-1, 3, -1, -1], "[x_0, 3, x_2, x_3]"),
        ([None, 3, None, None], "[x_0, 3, x_2, x_3]"),
        # What exporters write for any extent that they do not know: no two of them are equal.
        (["?", 3, "?", "?"], "[x_0, 3, x_2, x_3]"),
        (["None", 3, "-1", "-1"], "[x_0, 3, x_2, x_3]"),
        (["height//2 + 1", 3, 0, 4], "[height_2_1, 3, 0, 4]"),
    ],
)
def test_open_extents(declared: Declared, symbols: str) -> None:
    assert types({"x": declared}) == [symbols]


@pytest.mark.parametrize(
    "declared", [["n", 3, "h", "w"], [-1, 3, -1, -1], ["?", 3, "?", "?"], [1, 3, 0, 0], None]
)
def test_what_is_stated_is_bound(declared: Declared) -> None:
    assert types({"x": declared}, shape("x", 1, 3, 16, 24)) == ["[1, 3, 16, 24]"]


def test_a_named_extent_is_one_number_everywhere() -> None:
    inputs: dict[str, Declared] = {"x": ["n", "time steps"], "y": ["time steps", 4], "z": ["n"]}
    assert types(inputs, shape("y", 7, None)) == ["[n, 7]", "[7, 4]", "[n]"]
    for name in ("time steps", "time_steps"):
        assert types(inputs, shape(name, 7)) == ["[n, 7]", "[7, 4]", "[n]"]
    # No first extent is an open batch that is another input's inner one.
    assert types(inputs, open_batch_is_one=True) == ["[1, time_steps]", "[time_steps, 4]", "[1]"]


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        (
            [shape("x", 1, 7), shape("y", 8, 4, source="--input")],
            r"^input y is \[7, 4\], and cannot be \[8, 4\] \(--input\): t is 7 by input x "
            r"\(--shape\)$",
        ),
        (
            [shape("t", 7), shape("x", None, 8, source="--input")],
            r"^input x is \[n, 7\], and cannot be \[\?, 8\] \(--input\): t is 7 by t \(--shape\)$",
        ),
        (
            [shape("x", 1, 7), shape("t", 8)],
            r"^t is 7 by input x \(--shape\), and cannot be \[8\] \(--shape\)$",
        ),
        ([shape("x", 1, 7), shape("y", 7, 5)], r"^input y is \[7, 4\], and cannot be \[7, 5\]"),
        ([shape("x", 1)], r"^input x is \[n, t\], and cannot be \[1\]"),
        ([shape("x", 1, -1)], r"^input x is \[1, t\], and cannot be \[1, -1\]"),
        ([shape("t", 1, 2)], r"^t is one extent, and cannot be \[1, 2\]"),
        ([shape("u", 1)], r"^shapes for u: the inputs are x, y, and open extents n, t$"),
    ],
)
def test_contradictions_name_both(stated: list[StatedShape], message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        types({"x": ["n", "t"], "y": ["t", 4]}, *stated)


def test_an_input_without_a_shape() -> None:
    with pytest.raises(FrontendError, match=r"x has no shape: say it with --shape x=1,.*--input"):
        types({"x": None})
    assert types({"x": None}, shape("x", None, 3), open_batch_is_one=True) == ["[1, 3]"]


def model(**inputs: Declared) -> ModelProto:
    graph = helper.make_graph([], "g", [info(*each) for each in inputs.items()], [])
    return helper.make_model(graph)


def test_what_arrays_say() -> None:
    """Of open extents, and of first ones only if that is asked for: an array may be batches."""
    given = model(x=["n", 3, -1, "w"], y=[None, 4], z=[2, 5], u=None)
    arrays: dict[str, Any] = {"x": (6, 3, 7, 8), "y": (6,), "z": (4, 5), "u": (6, 2), "v": (1,)}
    assert [(each.name, each.extents) for each in stated_by_arrays(given, arrays, "a")] == [
        ("x", (None, None, 7, 8)),
        ("z", (None, None)),
        ("u", (None, 2)),
    ]
    whole = stated_by_arrays(given, arrays, "a", with_first=True)
    assert [each.extents[0] for each in whole] == [6, None, 6]


def test_extents_that_have_to_be_stated() -> None:
    assert has_open_extents(model(x=["n", 3, "h"]))
    assert has_open_extents(model(x=None))
    assert not has_open_extents(model(x=["n", 3, 4]))
