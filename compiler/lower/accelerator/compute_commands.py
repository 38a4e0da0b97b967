"""Loop nests as GEMM and ALU commands: two hardware loops, the others unrolled to micro-ops."""

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


@dataclass(frozen=True, slots=True)
class Operation:
    """The operation in each iteration; the fields are those of `Compute`."""

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
        """Whether an axis fits the fields of an instruction's loop `which`, "out" or "in"."""
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
    """The commands that apply `operation` in all iterations of `axes`, which are outermost first.

    The axes that save most micro-ops become the instruction's two loops; all other axes are
    unrolled in the kernel and, if that does not fit, into several commands.

    Parameters
    ----------
    start
        The indices "dst", "src" and "wgt" in the first iteration.
    """
    fused = _joined(axes)
    hardware = max(
        (pair for n in (0, 1, 2) for pair in combinations(range(len(fused)), n)),
        key=lambda pair: _iterations(fused, pair, limits, operation),
    )
    loops = [fused[at] for at in hardware]
    unrolled = [axis for at, axis in enumerate(fused) if at not in hardware]
    repeated: list[Loop] = []
    size = prod(axis.extent for axis in unrolled)
    while size > limits.micro_ops:
        size //= unrolled[0].extent
        repeated.append(unrolled.pop(0))
    outer, inner = [*(Loop(1) for _ in range(2 - len(loops))), *loops]
    starts = _kernel(repeated, start["dst"], start["src"], start["wgt"])
    for first in zip(starts.dst, starts.src, starts.wgt, strict=True):
        yield Compute(
            kernel=_kernel(unrolled, *first),
            outer=outer,
            inner=inner,
            op=operation.op,
            imm=operation.imm,
            reset=operation.reset,
        )


def _joined(axes: Sequence[Loop]) -> list[Loop]:
    """The axes of more than one iteration, outermost first, fused where possible."""
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
    """The iterations of the axes `pair` as an instruction's loops; 0 if they do not fit."""
    names = ("out", "in")[2 - len(pair) :]
    fitting = (limits.fits(axes[at], way, operation) for at, way in zip(pair, names, strict=True))
    return prod(axes[at].extent for at in pair) if all(fitting) else 0


def _kernel(axes: Sequence[Loop], dst: int, src: int, wgt: int) -> Kernel:
    """A micro-op for each iteration of `axes`; the first has the given indices."""
    kernel = [(dst, src, wgt)]
    for axis in axes:
        kernel = [
            (d + i * axis.dst, s + i * axis.src, w + i * axis.wgt)
            for d, s, w in kernel
            for i in range(axis.extent)
        ]
    return Kernel(*zip(*kernel, strict=True))
