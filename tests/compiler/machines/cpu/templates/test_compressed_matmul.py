"""Products of real numbers with weights of few bits, beside NumPy's with the real weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse_function
from tandem.compiler.graph.syntax import REFERENCE
from tandem.compiler.ir.dtypes import UINT2, UINT4, UINT8
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tests.support.compiler.machines.cpu.compressed import compiled, run
from tests.support.compiler.operators.operators import numbers
from tests.support.examples import examples

HOST = CpuTarget.host(1)
TARGETS = {
    "host": HOST,
    "avx2": HOST.without("avx512f"),
    "least": HOST.without("avx", "avx2", "avx512f", "fma"),
}
TYPES = {2: UINT2, 4: UINT4, 8: UINT8}


def check(
    shape: tuple[int, ...],
    columns: int,
    bits: int,
    block: int,
    zeros: str,
    target: CpuTarget,
    seed: int = 0,
) -> set[str]:
    """Compare a product with NumPy's; the types of the artifact's constants."""
    draw = np.random.default_rng(seed)
    depth, middle = shape[-1], 1 << (bits - 1)
    codes = draw.integers(0, 1 << bits, (depth, columns), np.uint8)
    many = (-(-depth // block), columns)
    scales = draw.random(many, np.float32)
    points = draw.integers(0, 1 << bits, many, np.uint8)
    constants = [Constant(codes.astype(TYPES[bits].numpy)), Constant(scales)]
    if zeros:
        dtype = np.dtype(np.float32) if zeros == "float" else TYPES[bits].numpy
        constants.append(Constant(points.astype(dtype)))
    args = ", ".join(f"{each.type} @ {REFERENCE}{each.digest}" for each in constants)
    attributes = f"axis=0, block={block}" + ("" if zeros else f", middle={middle}")
    text = f"""func @f(x: float32{list(shape)}, b: float32[{columns}]):
  w = dequantise_blocks({args}, {attributes})
  m = matmul(x, w)
  y = add(m, b)
  return y
"""
    function = parse_function(text, OPERATORS, {each.digest: each for each in constants})
    artifact = compiled(function, target)
    x, b = numbers(1, shape), numbers(2, (columns,))
    found = run(artifact, {"x": x, "b": b})["y"]
    centred = codes.astype(np.float64) - (np.repeat(points, block, 0)[:depth] if zeros else middle)
    real = centred * np.repeat(scales, block, 0)[:depth]
    exact, largest = x.astype(np.float64) @ real, np.abs(x.astype(np.float64)) @ np.abs(real)
    error = np.abs(found - (exact + b)) / (largest + np.abs(b) + 1)
    assert float(error.max()) < 1e-5
    (step,) = artifact.manifest.steps
    assert step.operators == ("dequantise_blocks", "matmul", "add")
    return {array.dtype.name for array in artifact.constants.values()}


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("zeros", ["", "codes"])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_every_width(bits: int, zeros: str, target: CpuTarget) -> None:
    held = check((3, 147), 70, bits, 32, zeros, target)
    assert held == {"uint32", "float32"} | ({"uint8"} if zeros else set())


@given(data=st.data())
@examples(6, 60)
def test_any_shape(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(2, 40), min_size=2, max_size=4)))
    columns, seed = data.draw(st.integers(2, 70)), data.draw(st.integers(0, 99))
    bits, block = data.draw(st.sampled_from([2, 4, 8])), data.draw(st.sampled_from([16, 32, 64]))
    zeros = data.draw(st.sampled_from(["", "codes", "float"]))
    check(shape, columns, bits, block, zeros, data.draw(st.sampled_from([*TARGETS.values()])), seed)


def test_one_row() -> None:
    check((1, 256), 200, 4, 32, "codes", HOST)


@pytest.mark.parametrize(("zeros", "block"), [("float", 32), ("codes", 5)])
def test_what_does_not_fit_is_packed_as_real_numbers(zeros: str, block: int) -> None:
    assert check((3, 64), 20, 4, block, zeros, HOST) == {"float32"}
