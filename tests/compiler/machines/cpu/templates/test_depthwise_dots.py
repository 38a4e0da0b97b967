"""Depthwise convolutions of bytes by dot products equal the operator, bit for bit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tandem.compiler import te
from tandem.compiler.ir.dtypes import FLOAT32, INT8, INT32, UINT8, DType
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.machines.cpu.templates.depthwise_dots import (
    dotted_depthwise,
    schedule_dotted_depthwise,
)
from tandem.compiler.operators.conv2d import conv2d
from tandem.compiler.plan.planner import Planner
from tandem.compiler.te import Tensor, compute, placeholder
from tandem.compiler.te.build import program_of
from tests.compiler.machines.cpu.test_backend import call, runs, typed
from tests.support.compiler.operators.operators import Array, given_as, numbers, same
from tests.support.examples import examples

HOST = CpuTarget.host(1)
SIMD = Simd(64, 32, frozenset(f"vnni_windows_{stride}_16x4" for stride in (1, 2, 3, 4)))
needs_windows = pytest.mark.skipif(
    Simd.of(HOST).windows(1) is None, reason="this processor has no dot products of windows"
)
CASES = [
    ((1, 64, 25, 5), (3, 3), {"padding": (1, 1, 1, 1)}),
    ((2, 3, 4, 4), (5, 5), {"padding": (2, 2, 2, 2)}),
    ((1, 4, 32, 32), (3, 3), {"padding": (1, 1, 1, 1)}),
    ((1, 4, 32, 32), (3, 3), {"padding": (1, 1, 1, 1), "strides": (2, 2)}),
    ((1, 5, 16, 16), (5, 5), {"padding": (2, 2, 2, 2), "strides": (2, 2)}),
    ((1, 2, 30, 90), (7, 7), {"padding": (3, 3, 3, 3)}),
    ((1, 2, 9, 41), (3, 9), {"strides": (4, 4)}),
    ((1, 3, 17, 13), (4, 3), {"padding": (2, 0, 1, 2), "strides": (3, 2), "dilation": (2, 1)}),
    ((1, 3, 17, 13), (4, 3), {"padding": (2, 0, 1, 2), "strides": (2, 3), "dilation": (3, 1)}),
    ((1, 9, 1, 1), (3, 3), {"padding": (1, 1, 1, 1)}),
    ((1, 1, 6, 20), (3, 3), {}),
]


def arrays_of(shape: tuple[int, ...], kernel: tuple[int, int], dtype: str) -> dict[str, Array]:
    channels = shape[1]
    return {
        "X": numbers(1, shape, dtype),
        "W": numbers(2, (channels, 1, *kernel), "int8"),
        "B": numbers(3, (channels,), "int32"),
    }


def checked(arrays: dict[str, Array], relu: bool = False, **attributes: Any) -> None:
    """The template's results, asserted to be the operator's."""
    x, w, b = (given_as(name, array) for name, array in arrays.items())
    attributes |= {"groups": x.shape[1], "out_dtype": INT32}
    layer = dotted_depthwise(x, w, bias=b, simd=Simd.of(HOST), **attributes)
    assert layer is not None
    plain = conv2d(x, w, b, **attributes)

    def followed(tensor: Tensor) -> Tensor:
        return compute(tensor.shape, lambda *i: te.maximum(tensor[i], 7), "relu")

    output, wanted_ = (followed(layer.output), followed(plain)) if relu else (layer.output, plain)
    packed = [
        compile_function(program_of([packing], name=packing.name), HOST)(arrays["W"])[0]
        for packing in layer.packings
    ]
    program = schedule_dotted_depthwise(layer, output).program
    (found,) = compile_function(program, HOST)(arrays["X"], *packed, arrays["B"])
    # Loops as they are written: the interpreter takes seconds for them.
    (wanted,) = compile_function(program_of([wanted_], [x, w, b]), HOST)(*arrays.values())
    same(found, wanted)


@needs_windows
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize(("shape", "kernel", "attributes"), CASES)
def test_against_the_operator(
    shape: tuple[int, ...], kernel: tuple[int, int], attributes: dict[str, Any], dtype: str
) -> None:
    checked(arrays_of(shape, kernel, dtype), **attributes)


@needs_windows
@given(data=st.data())
@examples(10, 100)
def test_any_image(data: st.DataObject) -> None:
    rows, columns, channels = (data.draw(st.integers(1, most)) for most in (20, 70, 9))
    kernel = data.draw(st.integers(1, 5)), data.draw(st.integers(2, 9))
    padding = tuple(data.draw(st.integers(0, 3)) for _ in range(4))
    strides = tuple(data.draw(st.integers(1, 4)) for _ in range(2))
    dilation = data.draw(st.integers(1, 3)), 1
    assume(rows + padding[0] + padding[2] > (kernel[0] - 1) * dilation[0])
    assume(columns + padding[1] + padding[3] >= kernel[1])
    checked(
        arrays_of(
            (1, channels, rows, columns), kernel, data.draw(st.sampled_from(["int8", "uint8"]))
        ),
        data.draw(st.booleans()),
        padding=padding,
        strides=strides,
        dilation=dilation,
    )


@needs_windows
def test_the_largest_sums() -> None:
    """-128 and 255 times -128 everywhere: no intermediate sum saturates."""
    for dtype, value in (("int8", -128), ("uint8", 255)):
        arrays = arrays_of((1, 2, 9, 9), (5, 5), dtype)
        arrays["X"][...], arrays["W"][...] = value, -128
        checked(arrays, padding=(2, 2, 2, 2))


@pytest.mark.parametrize(
    ("dtype", "kernel", "attributes", "simd"),
    [
        (INT8, (3, 3), {"groups": 2}, SIMD),
        (INT8, (3, 1), {"groups": 4}, SIMD),
        (INT8, (3, 3), {"groups": 4, "dilation": (1, 2)}, SIMD),
        (INT8, (3, 3), {"groups": 4, "strides": (1, 5)}, SIMD),
        (FLOAT32, (3, 3), {"groups": 4}, SIMD),
        (INT8, (3, 3), {"groups": 4}, Simd(64, 32)),
    ],
)
def test_where_it_does_not_help(
    dtype: DType, kernel: tuple[int, int], attributes: dict[str, Any], simd: Simd
) -> None:
    """Groups of channels, columns, gaps in rows, long strides, floats, other processors."""
    x = placeholder((1, 4, 9, 9), dtype, "X")
    weights = INT8 if dtype != FLOAT32 else FLOAT32
    w = placeholder((4, 4 // attributes["groups"], *kernel), weights, "W")
    out = None if dtype == FLOAT32 else INT32
    assert dotted_depthwise(x, w, simd=simd, out_dtype=out, **attributes) is None


@pytest.mark.parametrize("dtype", [INT8, UINT8])
def test_signed_bytes_have_an_excess(dtype: DType) -> None:
    x, w = placeholder((1, 4, 9, 9), dtype, "X"), placeholder((4, 1, 3, 3), INT8, "W")
    layer = dotted_depthwise(x, w, simd=SIMD, groups=4, out_dtype=INT32)
    assert layer is not None
    names = [each.name for each in layer.packings]
    assert names == ["conv_weight", *(["conv_excess"] if dtype == INT8 else [])]


@needs_windows
def test_the_planner_takes_it() -> None:
    kernel = typed(
        """
kernel @k(x: int8[1, 6, 25, 5], w: int8[6, 1, 3, 3], t: int8[256]):
  c = conv2d(x, w, padding=[1, 1, 1, 1], groups=6, out_dtype=int32)
  r = requantise(c, int32[](3), int64[](9), shift=9, low=-128, high=127)
  y = lookup(r, t)
  return y
"""
    )
    plan = Planner(cpu(HOST)).layer(call(kernel, 1))
    assert plan is not None
    assert plan.template.name == "depthwise_dots"
    runs(kernel, pack=True)
