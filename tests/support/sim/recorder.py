"""A recorder of programs: executes instructions as they are emitted, and tracks dependences."""

from __future__ import annotations

import random

import numpy as np

from tandem.hw.config import HardwareConfig
from tandem.hw.errors import ProgramError
from tandem.hw.isa import Instruction, Load, MemoryId, Program, Store, Unit, unit_of
from tests.support.hw.hazards.dependences import Dependences, Touch, touches, with_tokens
from tests.support.sim.reference import Image, ReferenceMachine


class Recorder:
    """Instructions in program order, executed on a reference machine and on `image`.

    `program` has the tokens that let every timing give the same result.
    """

    def __init__(self, config: HardwareConfig, rng: random.Random, image: Image) -> None:
        self.config = config
        self.rng = rng
        self.image = image
        self.machine = ReferenceMachine(config)
        self.instructions: list[Instruction] = []
        self.needs: list[dict[Unit, int]] = []
        self.dependences = Dependences(config, len(image))
        self.written_uops = np.zeros(config.depth(MemoryId.UOP), bool)

    def program(self) -> Program:
        """The recorded program."""
        instructions = with_tokens(self.instructions, self.needs)
        return Program.from_instructions(self.config, instructions)

    def touches(self, instruction: Instruction) -> list[Touch]:
        """All accesses of `instruction`, if it comes next."""
        return touches(self.config, instruction, self.machine.uop, self.machine.mode)

    def emit(self, instruction: Instruction) -> None:
        """Append, execute, and note dependences. Nothing happens if the machine refuses it."""
        unit = unit_of(instruction)
        touched = self.touches(instruction)
        accumulators, out = self.machine.acc.copy(), self.machine.out.copy()
        try:
            self.machine.step(instruction, self.image)
        except ProgramError:
            self.machine.acc[:], self.machine.out[:] = accumulators, out
            raise
        for touch in touched:
            if touch.resource == MemoryId.UOP and touch.writes:
                self.written_uops[touch.indices] = True
        needs = self._neighbours_only(unit, self.dependences.needs(unit, touched))
        self._append(instruction, needs)
        self.dependences.record(len(self.instructions) - 1, unit, touched)

    def _append(self, instruction: Instruction, needs: dict[Unit, int]) -> None:
        unit = unit_of(instruction)
        for other in Unit:
            if abs(other - unit) == 1 and self.rng.random() < 0.05:
                # A token more than necessary.
                earlier = self._of(other)
                if earlier:
                    needs[other] = max(needs.get(other, -1), self.rng.choice(earlier))
        self.instructions.append(instruction)
        self.needs.append(needs)

    def _neighbours_only(self, unit: Unit, needs: dict[Unit, int]) -> dict[Unit, int]:
        """Load and store share no queue: their dependences go by way of compute."""
        far = {Unit.LOAD: Unit.STORE, Unit.STORE: Unit.LOAD}.get(unit)
        if far not in needs:
            return needs
        at = needs.pop(far)
        between = [other for other in self._of(Unit.COMPUTE) if other > at]
        if not between or self.rng.random() < 0.3:
            self._append(self.empty(Unit.COMPUTE), {})
            between = [len(self.instructions) - 1]
        rider = self.rng.choice(between)
        self.needs[rider][far] = max(self.needs[rider].get(far, -1), at)
        needs[Unit.COMPUTE] = max(needs.get(Unit.COMPUTE, -1), rider)
        return needs

    def _of(self, unit: Unit) -> list[int]:
        return [at for at, item in enumerate(self.instructions) if unit_of(item) is unit]

    def empty(self, unit: Unit) -> Load | Store:
        """Only tokens; every other field may hold anything."""
        memories = {
            Unit.LOAD: (MemoryId.INP, MemoryId.WGT),
            Unit.COMPUTE: (MemoryId.UOP, MemoryId.ACC, MemoryId.ACC_8BIT),
            Unit.STORE: (MemoryId.OUT,),
        }
        make = Store if unit is Unit.STORE else Load
        return make(
            memory=self.rng.choice(memories[unit]),
            sram_base=self.rng.choice((0, 65535)),
            dram_base=self.rng.choice((0, 2**32 - 1)),
            y_size=self.rng.choice((0, 3)),
            x_size=0,
            x_stride=self.rng.choice((0, 65535)),
            y_pad_0=self.rng.choice((0, 15)),
            x_pad_1=self.rng.choice((0, 15)),
        )
