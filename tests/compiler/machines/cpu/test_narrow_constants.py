"""Constants of few bits are packed into bytes, and read as they were."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.driver import build
from tandem.compiler.driver.build import Backends
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse_function
from tandem.compiler.graph.syntax import REFERENCE
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import FLOAT4, INT2, INT4, INT8, UINT2, UINT4, DType
from tandem.compiler.machines.cpu.backend import KernelBackend
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.narrow_constants import is_narrow
from tandem.compiler.machines.cpu.target import cpu
from tandem.runtime.artifact import Provenance
from tests.support.compiler.machines.cpu.compressed import compiled, run

TYPES = [INT2, INT4, UINT2, UINT4, FLOAT4]


def constant(dtype: DType, shape: tuple[int, ...], seed: int = 0) -> Constant:
    bits = np.random.default_rng(seed).integers(0, 1 << dtype.bits, shape, np.uint8)
    if dtype == FLOAT4:
        return Constant(bits.view(dtype.numpy))
    return Constant((bits.astype(np.int16) + dtype.low).astype(dtype.numpy))


@given(
    dtype=st.sampled_from(TYPES),
    shape=st.lists(st.integers(1, 9), min_size=1, max_size=3).filter(
        lambda extents: prod(extents) > 63
    ),
    seed=st.integers(0, 99),
)
@settings(max_examples=12, deadline=None)
def test_casts_read_packed_constants(dtype: DType, shape: list[int], seed: int) -> None:
    data = constant(dtype, tuple(shape), seed)
    text = f"""func @f(x: float32[{shape[-1]}]):
  c = cast({data.type} @ {REFERENCE}{data.digest}, to=float32)
  y = add(c, x)
  return y
"""
    body = parse_function(text, OPERATORS, {data.digest: data})
    x = np.arange(shape[-1], dtype=np.float32)
    found = run(compiled(body, CpuTarget.host(1)), {"x": x})["y"]
    np.testing.assert_array_equal(found, data.array.astype(np.float32) + x)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_gathered_rows(dtype: DType) -> None:
    data = constant(dtype, (50, 33))
    text = f"""func @f(i: int64[3]):
  r = gather({data.type} @ {REFERENCE}{data.digest}, i)
  y = cast(r, to=float32)
  return y
"""
    artifact = compiled(parse_function(text, OPERATORS, {data.digest: data}), CpuTarget.host(1))
    at = np.array([49, 0, 7])
    np.testing.assert_array_equal(run(artifact, {"i": at})["y"], data.array[at].astype(np.float32))
    (held,) = artifact.constants.values()
    assert held.dtype == np.uint8
    assert held.size == -(-50 * 33 * dtype.bits // 8)


@pytest.mark.parametrize(("dtype", "sketched"), [(INT4, ["y"]), (INT8, ["r", "y"])], ids=str)
def test_sketches_are_made_of_kernels_without_packed_constants(
    dtype: DType, sketched: list[str]
) -> None:
    data = constant(dtype, (8, 64))
    text = f"""func @f(i: int64[3]):
  r = gather({data.type} @ {REFERENCE}{data.digest}, i)
  c = cast(r, to=float32)
  y = reduce_sum(c, axes=[1], keepdims=False)
  return y
"""
    backends, target = Backends(), cpu(CpuTarget.host(1))
    function = parse_function(text, OPERATORS, {data.digest: data})
    build(function, [target], Provenance("f"), backends=backends)
    backend = backends.of(target)
    assert isinstance(backend, KernelBackend)
    assert sorted(backend.calls) == sketched


def test_small_constants_and_bytes_stay() -> None:
    assert is_narrow(TensorType((64,), INT4))
    assert not is_narrow(TensorType((63,), INT4))
    assert not is_narrow(TensorType((640,), INT8))
