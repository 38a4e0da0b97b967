"""Parts of the instructions' semantics, compiled once and kept on disk for all tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from hw.jit import cached, fingerprint
from sim.semantics.alu import alu
from sim.semantics.chip import Chip
from sim.semantics.compute import compute
from sim.semantics.detail import Detail
from sim.semantics.fields import InstructionFields
from sim.semantics.loops import MicroOpLoop
from sim.semantics.requantiser import Requantiser


@cache
def make_alu() -> MicroOpLoop:
    """`sim.semantics.alu.alu`."""
    source = fingerprint("hw", "sim.semantics")

    @cached
    def kept(chip: Chip, row: InstructionFields, start: int, stop: int, detail: Detail) -> int:
        # The source is part of what is kept.
        return alu(chip, row, start, stop, detail) if source >= 0 else -1

    return kept


@cache
def make_compute() -> Callable[[Chip, Requantiser, InstructionFields, int, int, Detail], int]:
    """`sim.semantics.compute.compute` of a machine with requantisation."""
    source = fingerprint("hw", "sim.semantics")

    @cached
    def kept(
        chip: Chip,
        requantiser: Requantiser,
        row: InstructionFields,
        start: int,
        stop: int,
        detail: Detail,
    ) -> int:
        # The source is part of what is kept.
        return compute(chip, requantiser, row, start, stop, detail) if source >= 0 else -1

    return kept
