"""Passes over commands: what one is, what it is told, and what runs several of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tandem.compiler.machines.accelerator.lower.commands import Command, Commands
from tandem.compiler.machines.accelerator.lower.footprints import Footprints, KnownRuns
from tandem.compiler.machines.accelerator.lower.verify_commands import CommandVerifier
from tandem.hw.config import HardwareConfig


@dataclass(frozen=True, slots=True, eq=False)
class CommandContext:
    """What passes know beside the commands of a program: the machine, and commands' footprints.

    Attributes
    ----------
    in_order
        Whether the commands are checked for reads of what is not written yet, too, which takes as
        long as a pass.
    """

    config: HardwareConfig
    in_order: bool = False
    _runs: KnownRuns = field(default_factory=dict, repr=False)
    _latest: list[tuple[tuple[Command, ...], Footprints]] = field(default_factory=list, repr=False)

    def footprints(self, commands: Commands) -> Footprints:
        """The footprints of the commands' prototypes; those of the latest ones are remembered."""
        prototypes = commands.prototypes
        if not self._latest or self._latest[0][0] is not prototypes:
            self._latest[:] = [(prototypes, Footprints.of(prototypes, self.config, self._runs))]
        return self._latest[0][1]


class CommandPass(Protocol):
    """A frozen value with options as fields, which maps a program's commands to commands that leave
    the same in DRAM."""

    @property
    def name(self) -> str:
        """The pass's name in dumps and error messages."""

    def apply(self, commands: Commands, context: CommandContext) -> Commands:
        """The commands after the pass."""


def stages(
    commands: Commands, passes: Sequence[CommandPass], context: CommandContext
) -> Iterator[tuple[str, Commands]]:
    """The commands as elaborated, and after each of `passes`, with the name of what made them.

    Raises
    ------
    LoweringError
        If commands are not valid (see `CommandVerifier`); the message names what made them.
    """
    verifier = CommandVerifier(context.config)
    for step in (None, *passes):
        name = "elaborate" if step is None else step.name
        commands = commands if step is None else step.apply(commands, context)
        verifier.check(name, commands)
        if context.in_order:
            verifier.check_order(name, commands, context.footprints(commands))
        yield name, commands
