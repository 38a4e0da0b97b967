"""Loop nests as GEMM and ALU commands: two hardware loops, the others unrolled to micro-ops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import prod
from typing import TypeAlias

from tandem.compiler.machines.accelerator.lower.commands import Compute, Kernel, Loop, Mode
from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import AnyOperation
from tandem.hw.encoding import (
    Opcode,
    WordLayout,
    alu_layout,
    gemm_layout,
    opcodes_of,
    requantise_layout,
)
from tandem.hw.topology import MemoryId

_Indices: TypeAlias = tuple[int, int, int, int]
"""The indices dst, src, wgt and par."""


@dataclass(frozen=True, slots=True)
class Operation:
    """The operation in each iteration; the fields are those of `Compute`."""

    op: AnyOperation | None = None
    imm: int | str | None = None
    reset: bool = False
    from_inp: bool = False
    mode: Mode | None = None


@dataclass(frozen=True, slots=True)
class InstructionLimits:
    """The field widths of a configuration's instructions, and its micro-op memory's depth; `mode`
    is None on a machine without REQUANTISE."""

    gemm: WordLayout
    alu: WordLayout
    micro_ops: int
    mode: WordLayout | None = None
    _largest: dict[tuple[str, bool], tuple[int, int, int, int]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @staticmethod
    def of(config: HardwareConfig) -> InstructionLimits:
        """The limits of a configuration."""
        micro_ops, has_mode = config.depth(MemoryId.UOP), Opcode.REQUANTISE in opcodes_of(config)
        mode = requantise_layout(config) if has_mode else None
        return InstructionLimits(gemm_layout(config), alu_layout(config), micro_ops, mode)

    def fits(self, axis: Loop, which: str, operation: Operation) -> bool:
        """Whether an axis fits the fields of an instruction's loop `which`, "out" or "in"."""
        multiplies = operation.op is None
        key = which, multiplies
        if key not in self._largest:
            self._largest[key] = self._limits_of(which, multiplies=multiplies)
        extent, dst, src, wgt = self._largest[key]
        return (
            axis.extent <= extent
            and 0 <= axis.dst <= dst
            and 0 <= axis.src <= src
            and (not multiplies or 0 <= axis.wgt <= wgt)
            and self.steps_through_par(axis.par, which)
        )

    def _limits_of(self, which: str, *, multiplies: bool) -> tuple[int, int, int, int]:
        """The largest extent of the loop `which`, and its largest strides in dst, src and wgt."""
        layout = self.gemm if multiplies else self.alu
        names = ("dst", "src", "wgt") if multiplies else ("dst", "src")
        strides = [layout[f"{name}_factor_{which}"].limits[1] for name in names]
        dst, src, wgt = (*strides, 0)[:3]
        return layout[f"iter_{which}"].limits[1], dst, src, wgt

    def steps_through_par(self, step: int, which: str) -> bool:
        """Whether the loop `which`, "out" or "in", can have the stride `step` in PAR."""
        if self.mode is None:
            return step == 0
        return 0 <= step <= self.mode[f"par_factor_{which}"].limits[1]


def commands_of(
    axes: Sequence[Loop], start: Mapping[str, int], operation: Operation, limits: InstructionLimits
) -> Iterator[Compute]:
    """The commands that apply `operation` in all iterations of `axes`, which are outermost first.

    The axes that save most micro-ops become the instruction's two loops; all other axes are
    unrolled in the kernel and, if that does not fit, into several commands; and so are axes with a
    stride in PAR, as micro-ops have no index of it.

    Parameters
    ----------
    start
        The indices "dst", "src" and "wgt" in the first iteration.
    """
    fused = _joined(axes)
    fits = {
        which: [limits.fits(axis, which, operation) for axis in fused] for which in ("out", "in")
    }
    hardware = max(
        (pair for n in (0, 1, 2) for pair in combinations(range(len(fused)), n)),
        key=lambda pair: _iterations(fused, pair, fits),
    )
    loops = [fused[at] for at in hardware]
    unrolled = [axis for at, axis in enumerate(fused) if at not in hardware]
    repeated = [axis for axis in unrolled if axis.par]
    unrolled = [axis for axis in unrolled if not axis.par]
    size = prod(axis.extent for axis in unrolled)
    while size > limits.micro_ops:
        size //= unrolled[0].extent
        repeated.append(unrolled.pop(0))
    outer, inner = [*(Loop(1) for _ in range(2 - len(loops))), *loops]
    mode = operation.mode
    begin = start["dst"], start["src"], start["wgt"], 0 if mode is None else mode.par
    for first in _iterated(repeated, begin):
        dst, src, wgt, _ = zip(*_iterated(unrolled, first), strict=True)
        yield Compute(
            kernel=Kernel(dst, src, wgt),
            outer=outer,
            inner=inner,
            op=operation.op,
            imm=operation.imm,
            reset=operation.reset,
            from_inp=operation.from_inp,
            mode=None if mode is None else replace(mode, par=first[3]),
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


def _iterations(axes: list[Loop], pair: tuple[int, ...], fits: Mapping[str, Sequence[bool]]) -> int:
    """The iterations of the axes `pair` as an instruction's loops; 0 if they do not fit.

    Parameters
    ----------
    fits
        By the loop, "out" or "in", whether each axis fits it.
    """
    names = ("out", "in")[2 - len(pair) :]
    fitting = all([fits[which][at] for at, which in zip(pair, names, strict=True)])
    return prod([axes[at].extent for at in pair]) if fitting else 0


def _iterated(axes: Sequence[Loop], start: _Indices) -> list[_Indices]:
    """The indices in each iteration of `axes`; `start` are those of the first."""
    found = [start]
    for axis in axes:
        found = [
            (d + i * axis.dst, s + i * axis.src, w + i * axis.wgt, p + i * axis.par)
            for d, s, w, p in found
            for i in range(axis.extent)
        ]
    return found
