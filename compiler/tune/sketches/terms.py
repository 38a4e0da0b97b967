"""Terms of a reduction that are written out, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tandem.compiler.tune.sketches.builder import Builder


def write_out_terms(
    builder: Builder,
    label: str,
    stage: str,
    terms: list[str],
    extents: Mapping[str, int],
    statements: int,
) -> tuple[list[str], list[str]]:
    """Decide how many terms are written out: those of the innermost axes, or a part of the last.

    Parameters
    ----------
    terms, extents
        The reduction axes, outermost first, and the extents of their loops.
    statements
        Those that a term takes.

    Returns
    -------
    The axes after a split of the last one, and those of them to unroll.
    """
    most = min(builder.rules.most_terms, builder.rules.most_unrolled // max(1, statements))
    options = {1: 0}
    for count in range(1, len(terms) + 1):
        options.setdefault(prod(extents[axis] for axis in terms[-count:]), count)
    last = extents[terms[-1]]
    whole = [number for number in options if number <= most]
    parts = [size for size in (2, 4, 8, 16) if size <= most and size < last and last % size == 0]
    written = builder.number(f"{label}.unroll", sorted({*whole, *parts}))
    if written in options:
        count = options[written]
        return terms, terms[len(terms) - count :]
    inner = f"{terms[-1]}_w"
    builder.schedule = builder.schedule.split(stage, terms[-1], written, (terms[-1], inner))
    return [*terms, inner], [inner]
