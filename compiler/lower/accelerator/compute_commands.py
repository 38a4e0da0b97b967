"""GEMM and ALU commands of loop nests: loops of instructions, and micro-ops for the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod

from compiler.lower.accelerator.commands import Compute, Kernel, Loop
from hw.config import HardwareConfig
from hw.encoding import WordLayout, alu_layout, gemm_layout
from hw.operations import AluOp
from hw.topology import MemoryId

__all__ = ["InstructionLimits", "Operation", "commands_of"]


@dataclass(frozen=True, slots=True)
class Operation:
    """What is computed in each iteration; fields as of `Compute`."""

    op: AluOp | None = None
    imm: int | str | None = None
    reset: bool = False


@dataclass(frozen=True, slots=True)
class InstructionLimits:
    """The field widths of a configuration's instructions, and its micro-op memory's depth."""

    gemm: WordLayout
    alu: WordLayout
    micro_ops: int

    @staticmethod
    def of(config: HardwareConfig) -> InstructionLimits:
        """The limits of a configuration."""
        return InstructionLimits(
            gemm_layout(config), alu_layout(config), config.depth(MemoryId.UOP)
        )

    def fits(self, axis: Loop, which: str, operation: Operation) -> bool:
        """Whether an axis can be the loop `which`, "out" or "in", of an instruction."""
        layout = self.gemm if operation.op is None else self.alu
        factors = {"dst": axis.dst, "src": axis.src}
        if operation.op is None:
            factors["wgt"] = axis.wgt
        return axis.extent <= layout[f"iter_{which}"].limits[1] and all(
            0 <= value <= layout[f"{name}_factor_{which}"].limits[1]
            for name, value in factors.items()
        )


def commands_of(
    axes: Sequence[Loop], start: Mapping[str, int], operation: Operation, limits: InstructionLimits
) -> Iterator[Compute]:
    """The commands that apply `operation` along all axes, outermost first.

    The two loops of an instruction take the axes that save most micro-ops; the others are unrolled
    in the kernel, and where that does not fit, into several commands.

    Parameters
    ----------
    start
        The indices "dst", "src" and "wgt" in the first iteration.
    """
    joined = _joined(axes)
    best = max(
        (pair for n in (0, 1, 2) for pair in combinations(range(len(joined)), n)),
        key=lambda pair: _iterations(joined, pair, limits, operation),
    )
    loops = [joined[at] for at in best]
    rest = [axis for at, axis in enumerate(joined) if at not in best]
    outside: list[Loop] = []
    size = prod(axis.extent for axis in rest)
    while size > limits.micro_ops:
        size //= rest[0].extent
        outside.append(rest.pop(0))
    outer, inner = [*(Loop(1) for _ in range(2 - len(loops))), *loops]
    starts = _kernel(outside, start["dst"], start["src"], start["wgt"])
    for first in zip(starts.dst, starts.src, starts.wgt, strict=True):
        yield Compute(
            kernel=_kernel(rest, *first),
            outer=outer,
            inner=inner,
            op=operation.op,
            imm=operation.imm,
            reset=operation.reset,
        )


def _joined(axes: Sequence[Loop]) -> list[Loop]:
    """The axes of more than one iteration, with consecutive ones joined, outermost first."""
    result: list[Loop] = []
    for axis in reversed([each for each in axes if each.extent > 1]):
        if result and axis.follows(result[-1]):
            result[-1] = replace(result[-1], extent=axis.extent * result[-1].extent)
        else:
            result.append(axis)
    return result[::-1]


def _iterations(
    axes: list[Loop], pair: tuple[int, ...], limits: InstructionLimits, operation: Operation
) -> int:
    """The iterations of these axes as an instruction's loops; 0 where they do not fit."""
    names = ("out", "in")[2 - len(pair) :]
    fitting = (limits.fits(axes[at], way, operation) for at, way in zip(pair, names, strict=True))
    return prod(axes[at].extent for at in pair) if all(fitting) else 0


def _kernel(axes: Sequence[Loop], dst: int, src: int, wgt: int) -> Kernel:
    """A micro-op for each iteration of some axes, from the indices of the first."""
    kernel = [(dst, src, wgt)]
    for axis in axes:
        kernel = [
            (d + i * axis.dst, s + i * axis.src, w + i * axis.wgt)
            for d, s, w in kernel
            for i in range(axis.extent)
        ]
    return Kernel(*zip(*kernel, strict=True))
