"""Passes over commands, run one after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from tandem.compiler.errors import LoweringError
from tandem.compiler.machines.accelerator.lower.command_pass import (
    CommandContext,
    CommandPass,
    stages,
)
from tandem.compiler.machines.accelerator.lower.commands import (
    Commands,
    Compute,
    Copy,
    Kernel,
    Loop,
)
from tandem.hw.config_files import load_config
from tandem.hw.topology import MemoryId
from tests.support.compiler.machines.accelerator.lower.command_columns import columns_of

TINY = load_config("tiny")
LOAD = Copy(memory=MemoryId.ACC, sram=0, dram=0, rows=1, columns=4, stride=0)
STORE = replace(LOAD, memory=MemoryId.OUT)


@dataclass(frozen=True, slots=True)
class Drop:
    """Drops the command at a position."""

    position: int
    name: str = "drop"

    def apply(self, commands: Commands, context: CommandContext) -> Commands:
        return commands.take(np.delete(np.arange(len(commands)), self.position))


def names(context: CommandContext, *passes: CommandPass) -> list[str]:
    return [name for name, _ in stages(columns_of([LOAD, LOAD, STORE]), passes, context)]


def test_each_stage_is_shown_by_its_name() -> None:
    found = dict(stages(columns_of([LOAD, LOAD, STORE]), [Drop(0)], CommandContext(TINY)))
    assert {name: [*map(str, commands)] for name, commands in found.items()} == {
        "elaborate": [str(LOAD), str(LOAD), str(STORE)],
        "drop": [str(LOAD), str(STORE)],
    }


def test_a_pass_that_leaves_reads_of_nothing_is_named_where_that_is_looked_for() -> None:
    strict, again = CommandContext(TINY, in_order=True), Drop(0, "drop-again")
    assert names(strict, Drop(0)) == ["elaborate", "drop"]
    message = r"after drop-again: command 0, out\[0 :\+ 4\] -> .*, reads what nothing has written"
    with pytest.raises(LoweringError, match=message):
        names(strict, Drop(0), again)
    assert names(CommandContext(TINY), Drop(0), again) == ["elaborate", "drop", "drop-again"]


def test_a_pass_that_makes_what_the_machine_lacks_is_named() -> None:
    @dataclass(frozen=True, slots=True)
    class Overwrite:
        name: str = "overwrite"

        def apply(self, commands: Commands, context: CommandContext) -> Commands:
            kernel = Kernel((0,), (0,), (0,))
            made = Compute(kernel=kernel, outer=Loop(1), inner=Loop(1), overwrite=True)
            return columns_of([*commands, made])

    message = r"^compiler bug, please report it: after overwrite: overwrite 1 x 1 .*: overwrite 1: "
    with pytest.raises(LoweringError, match=message):
        names(CommandContext(TINY), Overwrite())


def test_footprints_are_those_of_the_commands_at_hand() -> None:
    context = CommandContext(TINY)
    commands, others = columns_of([LOAD, STORE]), columns_of([STORE])
    first = context.footprints(commands)
    assert context.footprints(commands.take(np.array([1]))) is first, "the same prototypes"
    assert len(first.runs) == 2
    assert len(context.footprints(others).runs) == 1
    assert len(context.footprints(commands).runs) == 2
