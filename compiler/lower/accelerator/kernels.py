"""Tensor instructions in loops, as GEMM and ALU commands: which loops, which micro-ops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import prod

from compiler.lower.accelerator.commands import Compute, Kernel, Loop
from hw.config import HardwareConfig
from hw.encoding import WordLayout, alu_layout, gemm_layout
from hw.operations import AluOp
from hw.topology import MemoryId

__all__ = ["Shape", "Work", "commands_of"]


@dataclass(frozen=True, slots=True)
class Work:
    """What is done in each turn: as a `Compute` says it."""

    op: AluOp | None = None
    imm: int | str | None = None
    reset: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """What instructions of a configuration have room for."""

    gemm: WordLayout
    alu: WordLayout
    micro_ops: int

    @staticmethod
    def of(config: HardwareConfig) -> Shape:
        """Of a configuration."""
        return Shape(gemm_layout(config), alu_layout(config), config.depth(MemoryId.UOP))

    def fits(self, axis: Loop, which: str, work: Work) -> bool:
        """Whether a dimension can be the loop `which`, "out" or "in"."""
        layout = self.gemm if work.op is None else self.alu
        factors = {"dst": axis.dst, "src": axis.src}
        if work.op is None:
            factors["wgt"] = axis.wgt
        return axis.extent <= layout[f"iter_{which}"].limits[1] and all(
            0 <= value <= layout[f"{name}_factor_{which}"].limits[1]
            for name, value in factors.items()
        )


def commands_of(
    axes: Sequence[Loop], start: Mapping[str, int], work: Work, shape: Shape
) -> Iterator[Compute]:
    """The commands that do `work` along all axes, outermost first.

    The two loops of an instruction take the axes that save most micro-ops; the others are written
    out in the kernel, and where that does not fit, in one command after another.

    Parameters
    ----------
    start
        The indices "dst", "src" and "wgt" in the first turn.
    """
    joined = _joined(axes)
    best = max(
        (pair for n in (0, 1, 2) for pair in combinations(range(len(joined)), n)),
        key=lambda pair: _saved(joined, pair, shape, work),
    )
    loops = [joined[at] for at in best]
    rest = [axis for at, axis in enumerate(joined) if at not in best]
    outside: list[Loop] = []
    size = prod(axis.extent for axis in rest)
    while size > shape.micro_ops:
        size //= rest[0].extent
        outside.append(rest.pop(0))
    outer, inner = [*(Loop(1) for _ in range(2 - len(loops))), *loops]
    for turn in product(*(range(each.extent) for each in outside)):
        first = {
            name: value
            + sum(i * int(getattr(each, name)) for i, each in zip(turn, outside, strict=True))
            for name, value in start.items()
        }
        yield Compute(
            kernel=_kernel(rest, first),
            outer=outer,
            inner=inner,
            op=work.op,
            imm=work.imm,
            reset=work.reset,
        )


def _joined(axes: Sequence[Loop]) -> list[Loop]:
    """Axes of one turn left out, those that continue each other joined; outermost first."""
    result: list[Loop] = []
    for axis in reversed([each for each in axes if each.extent > 1]):
        if result and axis.follows(result[-1]):
            result[-1] = replace(result[-1], extent=axis.extent * result[-1].extent)
        else:
            result.append(axis)
    return result[::-1]


def _saved(axes: list[Loop], pair: tuple[int, ...], shape: Shape, work: Work) -> int:
    """By how much shorter a kernel is with these axes as loops; 0 where they do not fit."""
    names = ("out", "in")[2 - len(pair) :]
    if not all(shape.fits(axes[at], name, work) for at, name in zip(pair, names, strict=True)):
        return 0
    return prod(axes[at].extent for at in pair)


def _kernel(axes: Sequence[Loop], start: Mapping[str, int]) -> Kernel:
    dst, src, wgt = [start["dst"]], [start["src"]], [start["wgt"]]
    for axis in axes:
        turns = range(axis.extent)
        dst = [value + i * axis.dst for value in dst for i in turns]
        src = [value + i * axis.src for value in src for i in turns]
        wgt = [value + i * axis.wgt for value in wgt for i in turns]
    return Kernel(tuple(dst), tuple(src), tuple(wgt))
