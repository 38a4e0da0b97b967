"""Parts of the instructions' semantics, compiled once and kept on disk for all tests."""

from __future__ import annotations

from functools import cache

from hw.jit import cached, fingerprint
from sim.semantics.alu import alu
from sim.semantics.chip import Chip
from sim.semantics.detail import Detail
from sim.semantics.fields import InstructionFields
from sim.semantics.loops import MicroOpLoop


@cache
def make_alu() -> MicroOpLoop:
    """`sim.semantics.alu.alu`."""
    source = fingerprint("hw", "sim.semantics")

    @cached
    def kept(chip: Chip, row: InstructionFields, start: int, stop: int, detail: Detail) -> int:
        # The source is part of what is kept.
        return alu(chip, row, start, stop, detail) if source >= 0 else -1

    return kept
