"""Long reductions in partial results, one for each lane of some vectors (rfactor)."""

from __future__ import annotations

from typing import Final

from tandem.compiler.ir.strides import accesses, strides
from tandem.compiler.tune.sketches.builder import Builder
from tandem.compiler.tune.sketches.stages import (
    block_of,
    is_reassociable,
    is_reduction,
    reduced,
    widest_bits,
)

_LEAST: Final = 4
"""The fewest terms of a partial result."""


def factor_terms(builder: Builder, stage: str) -> None:
    """Decide whether a reduction along contiguous terms, whose order is free, has a stage of
    partial results, which comes before it."""
    block = block_of(builder.program, stage)
    free = is_reassociable(block) or builder.rules.reassociate
    if not is_reduction(block) or not free or stage in builder.partial:
        return
    axis = reduced(block)[-1]
    extent = next(each.extent for each in block.iters if each.var.name == axis)
    if not strides(accesses(block), axis) <= {0, 1}:
        return
    lanes = max(1, builder.rules.register_bits // widest_bits(block))
    sizes = [count * lanes for count in (1, 2, 4) if count * lanes * _LEAST <= extent]
    label = builder.labels.get(stage, stage)
    size = builder.number(f"{label}.partial", (0, *sizes))
    if size:
        partial = f"{stage}_partial"
        builder.schedule = builder.schedule.rfactor(
            stage, axis, size, partial, reassociate=builder.rules.reassociate
        )
        builder.labels[partial] = f"{label}.partial"
        builder.partial.add(partial)
