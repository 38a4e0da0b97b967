"""Requantised results are for STOREs only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tandem.compiler.errors import LoweringError
from tandem.compiler.machines.accelerator.lower.command_pass import CommandContext
from tandem.compiler.machines.accelerator.lower.commands import (
    Command,
    Compute,
    Copy,
    Kernel,
    Loop,
    Mode,
)
from tandem.compiler.machines.accelerator.lower.requantised_reads import CheckRequantisedReads
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId
from tests.support.compiler.machines.accelerator.lower.command_columns import columns_of
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine


def compute(first: int, op: AluOp | None, imm: int | None = None) -> Compute:
    """Three accumulators from `first` on; the second operands are 10 to 12."""
    kernel = Kernel((first,), (10,), (0,))
    return Compute(kernel=kernel, outer=Loop(1), inner=Loop(3, 1, 1), op=op, imm=imm)


REQUANTISE = replace(compute(0, AluOp.ADD, 0), mode=Mode(0, -128, 127))
STORE = Copy(memory=MemoryId.OUT, sram=0, dram=0, rows=1, columns=3, stride=0)
LOAD = replace(STORE, memory=MemoryId.ACC_8BIT)


def check(commands: Sequence[Command]) -> None:
    columns = columns_of(commands)
    sites = tuple((f"stage{at}", ()) for at in range(len(columns)))
    given = replace(columns, sites=sites)
    assert CheckRequantisedReads().apply(given, CommandContext(machine("extended"))) is given


@pytest.mark.parametrize(
    "reader",
    [
        compute(2, None),
        compute(2, AluOp.MAX, 3),
        replace(REQUANTISE, kernel=Kernel((2,), (0,), (0,))),
        replace(compute(20, AluOp.ADD), kernel=Kernel((20,), (2,), (0,))),
        replace(compute(20, AluOp.MOVE), kernel=Kernel((20,), (2,), (0,))),
    ],
)
def test_computing_with_results_is_refused(reader: Command) -> None:
    """By accumulating, by an operand, or by requantising once more."""
    with pytest.raises(
        LoweringError,
        match=r"^stage2 computes with 1 results of stage0, which are requantised on their way",
    ):
        check([REQUANTISE, STORE, reader])


@pytest.mark.parametrize(
    "writer",
    [
        LOAD,
        replace(compute(0, None), reset=True),
        replace(compute(0, None), overwrite=True),
        compute(0, AluOp.MOVE, 5),
    ],
)
def test_written_anew_accumulators_are_what_they_seem(writer: Command) -> None:
    check([REQUANTISE, writer, compute(0, AluOp.ADD, 1), REQUANTISE])


def test_operands_in_inp_are_no_accumulators() -> None:
    check(
        [
            REQUANTISE,
            replace(compute(20, AluOp.ADD), kernel=Kernel((20,), (2,), (0,)), from_inp=True),
        ]
    )


def test_programs_without_requantisation_are_not_looked_at() -> None:
    check([compute(0, None), compute(0, AluOp.ADD)])
