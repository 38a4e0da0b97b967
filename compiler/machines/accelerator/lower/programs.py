"""The passes over programs and over commands; and a cache of what they make, for operators that
share a program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir.stmt import LoopKind, PrimFunc
from tandem.compiler.ir.visit import loops
from tandem.compiler.lower.hoist_reduction_init import HoistReductionInit
from tandem.compiler.lower.lowering import LOOP_PASSES, LoopPass, Simplify, lower
from tandem.compiler.machines.accelerator.lower.command_pass import (
    CommandContext,
    CommandPass,
    stages,
)
from tandem.compiler.machines.accelerator.lower.commands import Commands
from tandem.compiler.machines.accelerator.lower.dead_loads import DropUnusedLoads
from tandem.compiler.machines.accelerator.lower.dram_layout import dram_alignment
from tandem.compiler.machines.accelerator.lower.early_passes import EarlyPasses
from tandem.compiler.machines.accelerator.lower.elaborate import elaborate
from tandem.compiler.machines.accelerator.lower.footprints import Footprints
from tandem.compiler.machines.accelerator.lower.in_place_accumulators import InPlaceAccumulators
from tandem.compiler.machines.accelerator.lower.onchip import ChipMemory
from tandem.compiler.machines.accelerator.lower.output_modes import RequantiseLastWrites
from tandem.compiler.machines.accelerator.lower.repeated_loads import DropRepeatedLoads, takes_slots
from tandem.compiler.machines.accelerator.lower.requantised_reads import CheckRequantisedReads
from tandem.compiler.machines.accelerator.lower.start_order import StartEarly
from tandem.compiler.machines.accelerator.lower.virtual_threads import InterleaveThreads
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature


def accelerator_passes(target: AcceleratorTarget) -> tuple[LoopPass, ...]:
    """The CPU's passes, then the passes that form loops around accelerator instructions."""
    # Initialisers stay with what they initialise, which may overwrite instead.
    kept = (each for each in LOOP_PASSES if not isinstance(each, HoistReductionInit))
    return (*kept, InPlaceAccumulators(target), InterleaveThreads(), Simplify())


def command_passes(lowered: PrimFunc, config: HardwareConfig) -> tuple[CommandPass, ...]:
    """The passes over the commands of a lowered program on a machine, in their order."""
    eager = frozenset(loop.var.name for loop in loops(lowered.body) if loop.kind is LoopKind.EAGER)
    requantises = Feature.REQUANTISE in config.features
    table: tuple[tuple[CommandPass, bool], ...] = (
        (DropRepeatedLoads(), bool(eager) or takes_slots(lowered)),
        (DropUnusedLoads(), True),
        (CheckRequantisedReads(), requantises),
        (RequantiseLastWrites(), requantises),
        (EarlyPasses(eager), bool(config.features or eager)),
        (StartEarly(), bool(eager)),
    )
    return tuple(each for each, applies in table if applies)


@dataclass(frozen=True, slots=True, eq=False)
class ElaboratedProgram:
    """A program's commands, independent of its tensors' addresses.

    Attributes
    ----------
    lowered
        The program as loops around instructions.
    from_top
        As in `ChipMemory`.
    footprints
        The footprints of the commands' prototypes.
    """

    lowered: PrimFunc
    target: AcceleratorTarget
    from_top: bool
    commands: Commands
    footprints: Footprints

    @staticmethod
    def of(lowered: PrimFunc, target: AcceleratorTarget, *, from_top: bool) -> ElaboratedProgram:
        """The commands of a lowered program. Raises the errors of `elaborate` and `stages`."""
        context = CommandContext(target.config)
        for _, made in _stages(lowered, target, context, from_top):
            commands = made
        return ElaboratedProgram(lowered, target, from_top, commands, context.footprints(commands))

    def stages(self) -> Iterator[tuple[str, Commands]]:
        """The commands as elaborated, and after each pass, with the name of what made them: made
        once more, and checked in order, too (see `CommandContext`)."""
        context = CommandContext(self.target.config, in_order=True)
        return _stages(self.lowered, self.target, context, self.from_top)


def _stages(
    lowered: PrimFunc, target: AcceleratorTarget, context: CommandContext, from_top: bool
) -> Iterator[tuple[str, Commands]]:
    chip, zeros = ChipMemory(target.config, from_top), dram_alignment(target.config)
    commands = elaborate(lowered, target, chip, zeros)
    return stages(commands, command_passes(lowered, target.config), context)


@dataclass(slots=True, eq=False)
class ProgramCache:
    """A cache of elaborated programs, by identity of the program: equal layers share a program.

    Attributes
    ----------
    passes
        The passes that lower a program; by default `accelerator_passes`.
    """

    target: AcceleratorTarget
    passes: tuple[LoopPass, ...] = ()
    _lowered: dict[int, tuple[PrimFunc, PrimFunc]] = field(default_factory=dict)
    _elaborated: dict[tuple[int, bool], ElaboratedProgram] = field(default_factory=dict)

    def check(self, target: AcceleratorTarget) -> None:
        """Raises `LoweringError` if the cache is for another target."""
        if target != self.target:
            raise LoweringError(
                f"programs elaborated for {self.target.config.name} cannot run on "
                f"{target.config.name}"
            )

    def elaborated(self, program: PrimFunc, *, from_top: bool) -> ElaboratedProgram:
        """The elaborated program; `from_top` as in `ChipMemory`. Raises `elaborate`'s errors."""
        key = id(program), from_top
        if key not in self._elaborated:
            self._elaborated[key] = self._elaborate(program, from_top)
        return self._elaborated[key]

    def _elaborate(self, program: PrimFunc, from_top: bool) -> ElaboratedProgram:
        if id(program) not in self._lowered:
            # Keeps the program alive, so that no other object gets its `id`.
            passes = self.passes or accelerator_passes(self.target)
            self._lowered[id(program)] = program, lower(program, passes)
        lowered = self._lowered[id(program)][1]
        return ElaboratedProgram.of(lowered, self.target, from_top=from_top)
