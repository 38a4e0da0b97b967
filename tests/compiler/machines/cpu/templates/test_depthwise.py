"""Depthwise convolutions of flat images equal the operator, on every processor that this can be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tandem.compiler import te
from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.ir.interpreter import run
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.machines.cpu.templates.depthwise import (
    flat_depthwise,
    schedule_flat_depthwise,
)
from tandem.compiler.operators.conv2d import conv2d
from tandem.compiler.plan.planner import Planner
from tandem.compiler.te import compute, placeholder
from tandem.compiler.te.build import program_of
from tests.compiler.machines.cpu.test_backend import call, typed
from tests.support.compiler.operators.operators import Array, given_as, numbers, same

HOST = CpuTarget.host(1)
LONG_VECTORS = Simd.of(HOST).bytes >= 64
"""Rows of images that are flat leave most of a long vector empty; the template is for these."""
TARGETS = {
    "host": HOST,
    "avx2": HOST.without("avx512f"),
    "least": HOST.without("avx", "avx2", "avx512f", "fma"),
}
CASES = [
    ((1, 64, 25, 5), (3, 3), {"padding": (1, 1, 1, 1)}),
    ((2, 3, 4, 4), (5, 5), {"padding": (2, 2, 2, 2)}),
    ((1, 10, 9, 7), (3, 2), {"padding": (0, 1, 2, 0)}),
    ((1, 5, 12, 6), (3, 3), {"padding": (2, 2, 2, 2), "dilation": (2, 2)}),
    ((1, 2, 40, 18), (7, 7), {"padding": (3, 3, 3, 3)}),
]


def arrays_of(shape: tuple[int, ...], kernel: tuple[int, int], dtype: str) -> dict[str, Array]:
    channels = shape[1]
    return {
        "X": numbers(1, shape, dtype),
        "W": numbers(2, (channels, 1, *kernel), dtype),
        "B": numbers(3, (channels,), "float32" if dtype == "float32" else "int32"),
    }


def checked(arrays: dict[str, Array], target: CpuTarget, **attributes: Any) -> bool:
    """Whether the template takes a convolution, whose results are then the operator's."""
    x, w, b = (given_as(name, array) for name, array in arrays.items())
    attributes["groups"] = x.shape[1]
    layer = flat_depthwise(x, w, bias=b, simd=Simd.of(target), **attributes)
    if layer is None:
        return False
    program = schedule_flat_depthwise(layer, layer.output).program
    (found,) = compile_function(program, target)(*arrays.values())
    plain = program_of([conv2d(x, w, b, **attributes)], [x, w, b])
    (wanted,) = run(plain, [*arrays.values()])
    same(found, wanted, tolerance=1e-5)
    return True


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize(("shape", "kernel", "attributes"), CASES)
def test_against_the_operator(
    shape: tuple[int, ...],
    kernel: tuple[int, int],
    attributes: dict[str, Any],
    dtype: str,
    target: CpuTarget,
) -> None:
    arrays = arrays_of(shape, kernel, dtype)
    assert checked(arrays, target, **attributes) or target is not HOST or not LONG_VECTORS


@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_any_image(data: st.DataObject) -> None:
    rows, columns, channels = (data.draw(st.integers(1, most)) for most in (30, 40, 9))
    kernel = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    padding = tuple(data.draw(st.integers(0, 3)) for _ in range(4))
    fits = (
        rows + padding[0] + padding[2] >= kernel[0]
        and columns + padding[1] + padding[3] >= kernel[1]
    )
    assume(fits)
    checked(arrays_of((1, channels, rows, columns), kernel, "float32"), HOST, padding=padding)


def test_what_follows_is_computed_where_it_is_stored() -> None:
    arrays = arrays_of((1, 6, 10, 6), (3, 3), "float32")
    x, w, b = (given_as(name, array) for name, array in arrays.items())
    layer = flat_depthwise(x, w, bias=b, simd=Simd.of(HOST), groups=6)
    assert layer is not None
    relu = compute(layer.output.shape, lambda *i: te.maximum(layer.output[i], 0.0), "relu")
    (found,) = compile_function(schedule_flat_depthwise(layer, relu).program, HOST)(
        *arrays.values()
    )
    (wanted,) = run(program_of([conv2d(x, w, b, groups=6)], [x, w, b]), [*arrays.values()])
    same(found, np.maximum(wanted, 0), tolerance=1e-5)


@pytest.mark.parametrize(
    ("shape", "kernel", "attributes"),
    [
        ((1, 4, 16, 16), (3, 3), {"groups": 4, "padding": (1, 1, 1, 1)}),
        ((1, 4, 9, 5), (3, 3), {"groups": 4, "strides": (2, 2)}),
        ((1, 4, 9, 5), (3, 3), {"groups": 2}),
        ((0, 4, 9, 5), (3, 3), {"groups": 4}),
        ((1, 4, 9, 5), (1, 1), {"groups": 4}),
    ],
)
def test_where_it_does_not_help(
    shape: tuple[int, ...], kernel: tuple[int, int], attributes: dict[str, Any]
) -> None:
    """Rows that fill vectors, strides, groups of channels, nothing, windows of one element."""
    x = placeholder(shape, FLOAT32, "X")
    w = placeholder((4, 4 // attributes["groups"], *kernel), FLOAT32, "W")
    assert flat_depthwise(x, w, simd=Simd(64, 32), **attributes) is None


@pytest.mark.skipif(not LONG_VECTORS, reason="this processor has no long vectors")
def test_the_planner_takes_it() -> None:
    kernel = typed(
        """
kernel @k(x: float32[1, 6, 25, 5], w: float32[6, 1, 3, 3]):
  c = conv2d(x, w, padding=[1, 1, 1, 1], groups=6)
  y = relu(c)
  return y
"""
    )
    plan = Planner(cpu(HOST)).layer(call(kernel, 1))
    assert plan is not None
    assert plan.template.name == "depthwise"
