"""Random passes of the ALU over packed data, and what NumPy makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from compiler.ir.dtypes import INT8, INT32, DType
from compiler.operators.accelerator.epilogue import Pass
from compiler.te import Tensor, placeholder
from hw.encoding import AluOp
from tests.support.streams import Array

__all__ = ["DrawnPasses", "Wide", "draw_passes", "draw_tensor", "low_bytes", "passed"]

Wide = npt.NDArray[np.int64]
"""int32 values, with room for what an operation makes of them."""


@dataclass(frozen=True, slots=True)
class DrawnPasses:
    """Passes, and the tensors that they read by name."""

    passes: tuple[Pass, ...]
    values: dict[str, Array]


def draw_tensor(
    rng: np.random.Generator, shape: Sequence[int], dtype: DType, name: str
) -> tuple[Tensor, Array]:
    """A tensor of any numbers that its type holds."""
    values = rng.integers(dtype.low, dtype.high, tuple(shape), dtype.numpy, endpoint=True)
    return placeholder(shape, dtype, name), values


def draw_passes(
    rng: np.random.Generator,
    shape: Sequence[int],
    most: int,
    *,
    least: int = 0,
    name: str = "operand",
) -> DrawnPasses:
    """From `least` to `most` passes over data of a shape, with operands of every kind."""
    passes, values = [], dict[str, Array]()
    for number in range(int(rng.integers(least, most + 1))):
        op = AluOp(rng.choice([each.value for each in AluOp]))
        kind = rng.choice(["number", "channel", "element"], p=[0.5, 0.25, 0.25])
        if op is AluOp.SHR or kind == "number":
            low, high = (0, 31) if op is AluOp.SHR else (-(1 << 15), (1 << 15) - 1)
            passes.append(Pass(op, int(rng.integers(low, high + 1))))
            continue
        whole = kind == "element"
        place = shape if whole else (shape[1], *shape[-2:])
        dtype = INT8 if whole and rng.random() < 0.5 else INT32
        called = f"{name}_{number}"
        operand, values[called] = draw_tensor(rng, place, dtype, called)
        before = draw_passes(rng, shape, 2, name=called) if whole else DrawnPasses((), {})
        values |= before.values
        passes.append(Pass(op, operand, before.passes))
    return DrawnPasses(tuple(passes), values)


def passed(values: Wide, passes: Sequence[Pass], tensors: Mapping[str, Array]) -> Wide:
    """`values` after the passes, each in 32 bits."""
    for each in passes:
        values = _wrapped(_applied(each.op, values, _operand(values, each, tensors)))
    return values


def low_bytes(values: Wide) -> npt.NDArray[np.int8]:
    """What is stored."""
    return values.astype(np.int8)


def _operand(values: Wide, each: Pass, tensors: Mapping[str, Array]) -> Wide:
    if isinstance(each.operand, int):
        return np.array(each.operand, dtype=np.int64)
    found = tensors[each.operand.name].astype(np.int64)
    if found.ndim > 3:
        return passed(found, each.before, tensors)
    # [O / L, B, L], the same for all of the batch and all pixels.
    channels, batch, lanes = found.shape
    return found.reshape(1, channels, *(1,) * (values.ndim - 4), batch, lanes)


def _applied(op: AluOp, values: Wide, operand: Wide) -> Wide:
    match op:
        case AluOp.MIN:
            return np.minimum(values, operand)
        case AluOp.MAX:
            return np.maximum(values, operand)
        case AluOp.ADD:
            return values + operand
        case AluOp.MUL:
            return values * operand
        case AluOp.SHR:
            return values >> operand


def _wrapped(values: Wide) -> Wide:
    return values.astype(np.int32).astype(np.int64)
