"""Packed convolution equals ONNX's reference, on every kind of processor that this one can be."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tandem.compiler import te
from tandem.compiler.errors import ScheduleError, TensorError
from tandem.compiler.ir.dtypes import FLOAT32, INT8, INT32, UINT8, DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.interpreter import run
from tandem.compiler.ir.stmt import Invoke
from tandem.compiler.ir.visit import statements
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tandem.compiler.machines.cpu.schedules.generic import cpu_schedule
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.conv2d import Conv2dOnCpu, packed_conv2d
from tandem.compiler.machines.cpu.templates.conv2d_schedule import schedule_packed_conv2d
from tandem.compiler.machines.cpu.templates.register_tiles import Tile
from tandem.compiler.operators.conv2d import conv2d
from tandem.compiler.te import compute, placeholder
from tandem.compiler.te.build import program_of
from tests.support.compiler.machines.accelerator.templates import packed_layers
from tests.support.compiler.operators.operators import Array, given_as, numbers, onnx, same

HOST = CpuTarget.host(1)
TARGETS = {
    "no-dot-product": HOST.without("avx512vnni"),
    "avx2": HOST.without("avx512f"),
    "least": HOST.without("avx", "avx2", "avx512f", "fma"),
}


packed, convolve = (
    partial(packed_layers.packed, Conv2dOnCpu),
    partial(packed_layers.run, Conv2dOnCpu),
)


def reference(x: Array, w: Array, b: Array | None, dtype: DType, **attributes: Any) -> Array:
    names = {"padding": "pads", "dilation": "dilations", "groups": "group", "strides": "strides"}
    renamed = {names[name]: value for name, value in attributes.items()}
    wide = [None if each is None else each.astype("float64") for each in (x, w, b)]
    return onnx("Conv", *wide, **renamed).astype(dtype.numpy)


def check(
    x: Array, w: Array, b: Array | None, target: CpuTarget, tile: Tile | None = None, **attrs: Any
) -> None:
    arrays = {"X": x, "W": w} | ({} if b is None else {"B": b})
    conv = packed(arrays, target, tile=tile, **attrs)
    result = convolve(conv, arrays, target)
    same(result, reference(x, w, b, conv.output.dtype, **attrs), tolerance=1e-4)


SHAPES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((1, 1, 1, 1), (1, 1, 1, 1), {}),
    ((2, 3, 9, 11), (17, 3, 3, 3), {"padding": (1, 1, 1, 1)}),
    ((1, 8, 16, 30), (64, 8, 3, 3), {"padding": (1, 1, 1, 1), "strides": (2, 2)}),
    ((1, 3, 23, 21), (33, 3, 7, 7), {"padding": (3, 3, 3, 3), "strides": (2, 2)}),
    ((1, 5, 14, 14), (40, 5, 1, 1), {}),
    ((1, 12, 14, 14), (32, 12, 1, 1), {"strides": (2, 2)}),
    ((1, 6, 15, 16), (20, 6, 1, 1), {"strides": (2, 3), "padding": (0, 1, 2, 0)}),
    ((2, 4, 12, 13), (9, 4, 3, 2), {"dilation": (2, 3), "padding": (1, 0, 2, 1)}),
    ((1, 7, 9, 10), (3, 7, 2, 4), {"strides": (3, 1), "padding": (0, 2, 1, 3)}),
    ((1, 8, 5, 7), (64, 4, 3, 3), {"groups": 2, "padding": (1, 1, 1, 1)}),
    ((1, 18, 6, 6), (96, 6, 3, 3), {"groups": 3, "padding": (1, 0, 0, 1)}),
    ((1, 16, 4, 4), (10, 16, 4, 4), {}),
    ((1, 2, 40, 3), (16, 2, 3, 3), {"padding": (1, 1, 1, 1)}),
]


def check_shape(number: int, dtype: str, target: CpuTarget) -> None:
    image, weight, attributes = SHAPES[number]
    whole = dtype != "float32"
    w = numbers(2, weight, "int8" if whole else dtype)
    b = numbers(3, weight[:1], "int32" if whole else dtype) if weight[0] % 2 else None
    check(numbers(1, image, dtype), w, b, target, **attributes)


@pytest.mark.every(2)
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int8"])
@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_against_onnx(number: int, dtype: str) -> None:
    check_shape(number, dtype, HOST)


@pytest.mark.every(4)
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int8"])
@pytest.mark.parametrize("number", [1, 6, 9])
def test_on_lesser_processors(number: int, dtype: str, target: CpuTarget) -> None:
    check_shape(number, dtype, target)


@pytest.mark.parametrize(
    ("data", "weight"), [("float64", "float64"), ("int16", "int16"), ("int64", "int64")]
)
def test_other_types(data: str, weight: str) -> None:
    x, w = numbers(1, (1, 5, 9, 9), data), numbers(2, (19, 5, 3, 3), weight)
    check(x, w, None, HOST, padding=(1, 1, 1, 1))


@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_any_attributes_and_tile(data: st.DataObject) -> None:
    small = st.integers(1, 3)
    batch, inputs, outputs = data.draw(small), data.draw(st.integers(1, 9)), data.draw(small)
    kernel, strides, dilation = ([data.draw(small) for _ in range(2)] for _ in range(3))
    height, width = (data.draw(st.integers(1, 20)) for _ in range(2))
    padding = [data.draw(st.integers(0, 2)) for _ in range(4)]
    assume(height + padding[0] + padding[2] > dilation[0] * (kernel[0] - 1))
    assume(width + padding[1] + padding[3] > dilation[1] * (kernel[1] - 1))
    tile = Tile(16 * data.draw(small), data.draw(small), data.draw(st.integers(1, 5)))
    dtype = data.draw(st.sampled_from(["float32", "uint8", "int8"]))
    x = numbers(0, (batch, inputs, height, width), dtype)
    w = numbers(1, (outputs * 7, inputs, *kernel), "float32" if dtype == "float32" else "int8")
    check(x, w, None, HOST, tile, strides=strides, dilation=dilation, padding=padding)


def test_the_schedule_means_the_same_to_the_interpreter() -> None:
    arrays = {"X": numbers(1, (1, 5, 4, 5), "uint8"), "W": numbers(2, (18, 5, 3, 3), "int8")}
    conv = packed(arrays, HOST, padding=(1, 1, 1, 1))
    (weights,) = run(program_of(conv.packings), [arrays["W"]])
    (result,) = run(schedule_packed_conv2d(conv, conv.output).program, [arrays["X"], weights])
    expected = reference(arrays["X"], arrays["W"], None, INT32, padding=(1, 1, 1, 1))
    same(result, expected)


def test_threads_agree() -> None:
    arrays = {"X": numbers(1, (2, 8, 20, 20)), "W": numbers(2, (48, 8, 3, 3))}
    one, two = HOST, CpuTarget.host(2)
    conv = packed(arrays, one, padding=(1, 1, 1, 1))
    np.testing.assert_array_equal(convolve(conv, arrays, one), convolve(conv, arrays, two))


def test_what_follows_is_computed_on_the_tile() -> None:
    arrays = {
        "X": numbers(1, (1, 8, 13, 13)),
        "W": numbers(2, (24, 8, 3, 3)),
        "B": numbers(3, (24,)),
        "R": numbers(4, (1, 24, 11, 11)),
    }
    conv = packed({name: arrays[name] for name in "XWB"}, HOST)
    residual = given_as("R", arrays["R"])

    def add(n: Expr, c: Expr, y: Expr, x: Expr) -> Expr:
        return conv.output[n, c, y, x] + residual[n, c, y, x]

    added = compute(conv.output.shape, add, "added")
    relu = compute(added.shape, lambda *i: te.maximum(added[i], 0.0), "relu", [*"nchw"])
    result = convolve(conv, arrays, HOST, relu)
    expected = reference(arrays["X"], arrays["W"], arrays["B"], FLOAT32) + arrays["R"]
    same(result, np.maximum(expected, 0), tolerance=1e-4)


def test_what_follows_must_be_element_by_element() -> None:
    arrays = {"X": numbers(1, (1, 4, 8, 8)), "W": numbers(2, (16, 4, 3, 3))}
    conv = packed(arrays, HOST)
    axis = te.reduce_axis(16, "r")
    total = compute(
        (1, 1, 6, 6), lambda n, c, y, x: te.sum(conv.output[n, axis, y, x], axis), "total"
    )
    after = compute((1, 1, 6, 6), lambda n, c, y, x: total[n, c, y, x] + 1.0, "after")
    with pytest.raises(ScheduleError, match="total is a reduction"):
        schedule_packed_conv2d(conv, after)


def test_dot_products_where_there_are_some() -> None:
    arrays = {"X": numbers(1, (1, 8, 8, 8), "uint8"), "W": numbers(2, (16, 8, 3, 3), "int8")}
    for target in (HOST, *TARGETS.values()):
        conv = packed(arrays, target)
        body = schedule_packed_conv2d(conv, conv.output).program.body
        used = {each.intrinsic.name for each in statements(body) if isinstance(each, Invoke)}
        assert used == ({conv.dot.name} if conv.dot else set())
        assert (conv.dot is not None) == ("avx2" in target.features)


@pytest.mark.parametrize(
    ("image", "weight", "groups"),
    [
        ((0, 4, 8, 8), (16, 4, 3, 3), 1),
        ((1, 4, 8, 8), (0, 4, 3, 3), 1),
        ((1, 8, 8, 8), (8, 1, 3, 3), 8),
        ((1, 8, 8, 8), (24, 4, 3, 3), 2),
    ],
)
def test_left_to_the_generic_schedule(
    image: tuple[int, ...], weight: tuple[int, ...], groups: int
) -> None:
    x, w = numbers(1, image), numbers(2, weight)
    data, filters, simd = given_as("X", x), given_as("W", w), Simd.of(HOST)
    attributes: dict[str, Any] = {"groups": groups, "padding": (1, 1, 1, 1)}
    assert packed_conv2d(data, filters, simd=simd, **attributes) is None
    schedule = cpu_schedule(conv2d(data, filters, **attributes), simd=simd, inputs=(data, filters))
    (result,) = compile_function(schedule.program, HOST)(x, w)
    if result.size:
        same(result, reference(x, w, None, FLOAT32, **attributes), tolerance=1e-4)
    else:
        assert result.shape == (image[0], weight[0], 8, 8)


def test_refuses_what_conv2d_refuses() -> None:
    data, filters = placeholder((1, 4, 8, 8), UINT8, "X"), placeholder((6, 4, 3, 3), INT8, "W")
    with pytest.raises(TensorError, match=r"bias B int8\[6\] has to be int32\[6\]"):
        packed_conv2d(data, filters, bias=placeholder((6,), INT8, "B"), simd=Simd(64, 32))
