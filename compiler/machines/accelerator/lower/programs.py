"""A cache of lowered and elaborated accelerator programs, shared between operators."""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.errors import LoweringError
from compiler.ir.stmt import Function, LoopKind
from compiler.ir.visit import loops
from compiler.lower.lowering import LOOP_PASSES, Pass, Simplify, lower
from compiler.machines.accelerator.lower.commands import Commands
from compiler.machines.accelerator.lower.dead_loads import drop_unused_loads, late_resets
from compiler.machines.accelerator.lower.dram_layout import dram_alignment
from compiler.machines.accelerator.lower.early_passes import early_passes
from compiler.machines.accelerator.lower.elaborate import elaborate
from compiler.machines.accelerator.lower.footprints import Footprints
from compiler.machines.accelerator.lower.in_place_accumulators import InPlaceAccumulators
from compiler.machines.accelerator.lower.onchip import ChipMemory
from compiler.machines.accelerator.lower.output_modes import requantise_last_writes
from compiler.machines.accelerator.lower.overwrites import overwrite_first
from compiler.machines.accelerator.lower.repeated_loads import drop_repeated_loads, takes_slots
from compiler.machines.accelerator.lower.requantised_reads import check_requantised_reads
from compiler.machines.accelerator.lower.start_order import start_early
from compiler.machines.accelerator.lower.virtual_threads import InterleaveThreads
from compiler.machines.accelerator.machine import AcceleratorTarget
from hw.features import Feature


def accelerator_passes(target: AcceleratorTarget) -> tuple[Pass, ...]:
    """The CPU's passes, then the passes that form loops around accelerator instructions."""
    return (*LOOP_PASSES, InPlaceAccumulators(target), InterleaveThreads(), Simplify())


@dataclass(frozen=True, slots=True, eq=False)
class ElaboratedProgram:
    """A program's commands, independent of its tensors' addresses.

    Attributes
    ----------
    lowered
        The program as loops around instructions.
    footprints
        The footprints of the commands' prototypes.
    """

    lowered: Function
    commands: Commands
    footprints: Footprints


@dataclass(slots=True, eq=False)
class ProgramCache:
    """A cache of elaborated programs, by identity of the program: equal layers share a program.

    Attributes
    ----------
    passes
        The passes that lower a program; by default `accelerator_passes`.
    """

    target: AcceleratorTarget
    passes: tuple[Pass, ...] = ()
    _lowered: dict[int, tuple[Function, Function]] = field(default_factory=dict)
    _elaborated: dict[tuple[int, bool], ElaboratedProgram] = field(default_factory=dict)

    def check(self, target: AcceleratorTarget) -> None:
        """Raises `LoweringError` if the cache is for another target."""
        if target != self.target:
            raise LoweringError(
                f"programs elaborated for {self.target.config.name} cannot run on "
                f"{target.config.name}"
            )

    def elaborated(self, program: Function, *, from_top: bool) -> ElaboratedProgram:
        """The elaborated program; `from_top` as in `ChipMemory`. Raises `elaborate`'s errors."""
        key = id(program), from_top
        if key not in self._elaborated:
            self._elaborated[key] = self._elaborate(program, from_top)
        return self._elaborated[key]

    def _elaborate(self, program: Function, from_top: bool) -> ElaboratedProgram:
        if id(program) not in self._lowered:
            # Keeps the program alive, so that no other object gets its `id`.
            passes = self.passes or accelerator_passes(self.target)
            self._lowered[id(program)] = program, lower(program, passes)
        lowered, config = self._lowered[id(program)][1], self.target.config
        commands = elaborate(
            lowered, self.target, ChipMemory(config, from_top), dram_alignment(config)
        )
        footprints = Footprints.of(commands.prototypes, config)
        eager = {loop.var.name for loop in loops(lowered.body) if loop.kind is LoopKind.EAGER}
        if eager or takes_slots(lowered):
            commands = drop_repeated_loads(commands, footprints, config)
        used = drop_unused_loads(commands, footprints, config)
        ordered = late_resets(used, footprints)
        if Feature.REQUANTISE in config.features:
            check_requantised_reads(ordered, footprints, config)
        if config.features & {Feature.OVERWRITE, Feature.INPUT_OPERANDS}:
            ordered = overwrite_first(ordered, config.features)
        if Feature.REQUANTISE in config.features:
            ordered = requantise_last_writes(ordered, config)
        if config.features:
            footprints = Footprints.of(ordered.prototypes, config)
        if config.features or eager:
            ordered = early_passes(ordered, footprints, eager)
        if eager:
            ordered = start_early(ordered, footprints, config)
        return ElaboratedProgram(lowered, ordered, footprints)
