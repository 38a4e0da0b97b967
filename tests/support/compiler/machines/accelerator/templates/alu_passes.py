"""Random ALU passes over packed data, and their results by NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tandem.compiler.ir.dtypes import INT8, INT32, DType
from tandem.compiler.machines.accelerator.intrinsics.base import BINARY
from tandem.compiler.machines.accelerator.templates.epilogue import (
    AluPass,
    EpiloguePass,
    OperandKind,
)
from tandem.compiler.machines.accelerator.templates.parameter_passes import RequantisePass
from tandem.compiler.plan.schedule_template import Arguments
from tandem.hw.operations import AluOp
from tests.support.compiler.machines.accelerator.templates.streams import Array

Wide = npt.NDArray[np.int64]
"""int32 values in int64, which holds the result of every operation."""


@dataclass(frozen=True, slots=True)
class Passes:
    """Passes, and the tensors and immediates that the passes read, by name."""

    passes: tuple[EpiloguePass, ...] = ()
    values: Mapping[str, Array] = field(default_factory=dict)
    immediates: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def of(found: tuple[tuple[EpiloguePass, ...], Arguments]) -> Passes:
        """The `Passes` of a result of `structure`."""
        passes, numbers = found
        return Passes(passes, numbers.tensors, numbers.immediates)

    def __add__(self, other: Passes) -> Passes:
        return Passes(
            (*self.passes, *other.passes),
            {**self.values, **other.values},
            {**self.immediates, **other.immediates},
        )

    @property
    def of_alu(self) -> tuple[AluPass, ...]:
        """The passes, none of which is a requantisation."""
        found = tuple(each for each in self.passes if isinstance(each, AluPass))
        assert found == self.passes, "an operand's passes are those of the ALU"
        return found

    def applied(self, values: Wide) -> Wide:
        """`values` after the passes; those of the ALU are computed in 32 bits."""
        return self._applied(values, self.passes)

    def _applied(self, values: Wide, passes: Sequence[EpiloguePass]) -> Wide:
        for step in passes:
            if isinstance(step, RequantisePass):
                values = self._requantised(values, step)
            else:
                assert isinstance(step.op, AluOp), "operations of a machine's own are not drawn"
                values = _result(step.op, values, self._operand(values, step))
        return values

    def _requantised(self, values: Wide, step: RequantisePass) -> Wide:
        blocks, lanes = self.values["parameters"].shape
        # [O / L, L], the same for all of the batch and all pixels.
        words = self.values["parameters"].astype(np.int64)
        words = words.reshape(1, blocks, *(1,) * (values.ndim - 3), lanes)
        total = values * (words >> 32 & 0xFFFF) + words.astype(np.int32)
        if step.residual is not None:
            total = total + self.values[step.residual].astype(np.int64) * self.immediates["scale"]
        low, high = self.immediates["low"], self.immediates["high"]
        return np.clip(total >> (words >> 48 & 31), low, high)

    def _operand(self, values: Wide, step: AluPass) -> Wide:
        match step.kind:
            case OperandKind.IMMEDIATE:
                return np.array(self.immediates[step.operand], np.int64)
            case OperandKind.ELEMENT:
                found = self.values[step.operand].astype(np.int64)
                return self._applied(found, step.before)
            case OperandKind.CHANNEL:
                # [O / L, B, L], the same for all of the batch and all pixels.
                channels, batch, lanes = self.values[step.operand].shape
                shape = 1, channels, *(1,) * (values.ndim - 4), batch, lanes
                return self.values[step.operand].astype(np.int64).reshape(shape)
            case OperandKind.NONE:
                raise AssertionError("operations without an operand are not drawn")


_DRAWN = [OperandKind.IMMEDIATE.value, OperandKind.CHANNEL.value, OperandKind.ELEMENT.value]


def draw_values(rng: np.random.Generator, shape: Sequence[int], dtype: DType) -> Array:
    """Random values over the range of the type."""
    return rng.integers(dtype.low, dtype.high, tuple(shape), dtype.numpy, endpoint=True)


def draw_passes(
    rng: np.random.Generator,
    shape: Sequence[int],
    most: int,
    *,
    least: int = 0,
    name: str = "operand",
) -> Passes:
    """`least` to `most` random passes over data of a shape, with operands of all kinds."""
    drawn = Passes()
    for number in range(int(rng.integers(least, most + 1))):
        op = AluOp(rng.choice([each.value for each in BINARY]))
        kind = OperandKind(rng.choice(_DRAWN, p=[0.5, 0.25, 0.25]))
        called = f"{name}_{number}"
        if op is AluOp.SHR or kind is OperandKind.IMMEDIATE:
            low, high = (0, 31) if op is AluOp.SHR else (-(1 << 15), (1 << 15) - 1)
            step = AluPass(op, called)
            drawn += Passes((step,), {}, {called: int(rng.integers(low, high + 1))})
        elif kind is OperandKind.CHANNEL:
            row = draw_values(rng, (shape[1], *shape[-2:]), INT32)
            drawn += Passes((AluPass(op, called, kind),), {called: row})
        else:
            dtype = INT8 if rng.random() < 0.5 else INT32
            before = draw_passes(rng, shape, 2, name=called)
            step = AluPass(op, called, kind, dtype, before.of_alu)
            values = {called: draw_values(rng, shape, dtype), **before.values}
            drawn += Passes((step,), values, before.immediates)
    return drawn


def low_bytes(values: Wide) -> npt.NDArray[np.int8]:
    """The bytes that a STORE writes."""
    return values.astype(np.int8)


def _result(op: AluOp, values: Wide, operand: Wide) -> Wide:
    return op.apply(values.astype(np.int32), operand.astype(np.int32)).astype(np.int64)
