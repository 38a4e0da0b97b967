"""Packed dense layers equal NumPy, on every kind of processor that this one can be."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler import te
from tandem.compiler.errors import ScheduleError, TensorError
from tandem.compiler.ir.dtypes import FLOAT32, INT8
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.dense import (
    DenseOnCpu,
    packed_dense,
    schedule_packed_dense,
)
from tandem.compiler.machines.cpu.templates.register_tiles import Tile
from tandem.compiler.te import compute, placeholder
from tests.support.compiler.machines.accelerator.templates import packed_layers
from tests.support.compiler.operators.operators import Array, numbers, same
from tests.support.examples import examples

HOST = CpuTarget.host(1)
TARGETS = {
    "host": HOST,
    "avx2": HOST.without("avx512f"),
    "least": HOST.without("avx", "avx2", "avx512f", "fma"),
}


packed, run = partial(packed_layers.packed, DenseOnCpu), partial(packed_layers.run, DenseOnCpu)


def reference(arrays: dict[str, Array], dtype: np.dtype[Any]) -> Array:
    wide = {name: array.astype("float64") for name, array in arrays.items()}
    result: Array = wide["X"] @ wide["W"].T + wide.get("B", np.zeros(1))
    return result.astype(dtype)


def arrays_of(rows: int, outputs: int, inputs: int, dtype: str, bias: bool) -> dict[str, Array]:
    whole = dtype != "float32"
    arrays = {
        "X": numbers(1, (rows, inputs), dtype),
        "W": numbers(2, (outputs, inputs), "int8" if whole else dtype),
    }
    if bias:
        arrays["B"] = numbers(3, (outputs,), "int32" if whole else dtype)
    return arrays


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int8"])
@pytest.mark.parametrize(
    ("rows", "outputs", "inputs"),
    [(1, 1, 1), (1, 100, 64), (5, 33, 21), (33, 17, 6), (64, 64, 32)],
)
def test_against_numpy(rows: int, outputs: int, inputs: int, dtype: str, target: CpuTarget) -> None:
    arrays = arrays_of(rows, outputs, inputs, dtype, bias=outputs % 2 == 1)
    layer = packed(arrays, target)
    result = run(layer, arrays, target)
    same(result, reference(arrays, result.dtype), tolerance=1e-4)


@given(data=st.data())
@examples(8, 80)
def test_any_tile(data: st.DataObject) -> None:
    extents = st.integers(1, 40)
    rows, outputs, inputs = (data.draw(extents) for _ in range(3))
    tile = Tile(16 * data.draw(st.integers(1, 3)), 1, data.draw(st.integers(1, 9)))
    dtype = data.draw(st.sampled_from(["float32", "uint8", "int8"]))
    arrays = arrays_of(rows, outputs, inputs, dtype, bias=data.draw(st.booleans()))
    result = run(packed(arrays, HOST, tile=tile), arrays, HOST)
    same(result, reference(arrays, result.dtype), tolerance=1e-4)


def test_threads_agree() -> None:
    arrays = arrays_of(20, 200, 30, "float32", bias=True)
    layer = packed(arrays, HOST)
    np.testing.assert_array_equal(run(layer, arrays, HOST), run(layer, arrays, CpuTarget.host(2)))


def test_what_follows_is_computed_on_the_tile() -> None:
    arrays = arrays_of(9, 30, 12, "float32", bias=True)
    layer = packed(arrays, HOST)
    relu = compute((9, 30), lambda i, j: te.maximum(layer.output[i, j], 0.0), "relu")
    expected = np.maximum(reference(arrays, np.dtype("float32")), 0)
    same(run(layer, arrays, HOST, relu), expected, tolerance=1e-4)


def test_what_follows_must_be_element_by_element() -> None:
    layer = packed(arrays_of(9, 30, 12, "float32", bias=False), HOST)
    axis = te.reduce_axis(30, "r")
    total = compute((9, 1), lambda i, j: te.sum(layer.output[i, axis], axis), "total")
    after = compute((9, 1), lambda i, j: total[i, j] + 1.0, "after")
    with pytest.raises(ScheduleError, match="total is a reduction"):
        schedule_packed_dense(layer, after)


@pytest.mark.parametrize(("rows", "outputs"), [(0, 8), (8, 0)])
def test_nothing_to_compute(rows: int, outputs: int) -> None:
    x, w = placeholder((rows, 4), FLOAT32, "X"), placeholder((outputs, 4), FLOAT32, "W")
    assert packed_dense(x, w, simd=Simd(64, 32)) is None


def test_refuses_what_dense_refuses() -> None:
    x, w = placeholder((3, 4), FLOAT32, "X"), placeholder((8, 5), FLOAT32, "W")
    with pytest.raises(TensorError, match="meet with 4 and 5 elements"):
        packed_dense(x, w, simd=Simd(64, 32))
    bias = placeholder((8,), INT8, "B")
    with pytest.raises(TensorError, match=r"bias B int8\[8\] has to be float32\[8\]"):
        packed_dense(x, placeholder((8, 4), FLOAT32, "W"), bias=bias, simd=Simd(64, 32))
