"""What passes over commands must not make."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tandem.compiler.errors import LoweringError
from tandem.compiler.machines.accelerator.lower.commands import (
    Command,
    Commands,
    Compute,
    Copy,
    Kernel,
    Loop,
    Mode,
    SetMode,
)
from tandem.compiler.machines.accelerator.lower.footprints import Footprints
from tandem.compiler.machines.accelerator.lower.verify_commands import CommandVerifier
from tandem.hw.config import HardwareConfig
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId
from tests.support.compiler.machines.accelerator.lower.command_columns import columns_of
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine

TINY, EXTENDED = machine("tiny"), machine("extended")
ACCUMULATORS = TINY.depth(MemoryId.ACC)
IMAGE = Copy(memory=MemoryId.INP, sram=0, dram=-4, rows=2, columns=4, stride=8)
WEIGHT = replace(IMAGE, memory=MemoryId.WGT)
STORE = replace(IMAGE, memory=MemoryId.OUT, rows=1)
SUMS = Compute(kernel=Kernel((0, 1), (0, 4), (0, 1)), outer=Loop(2, 2), inner=Loop(4, 0, 1))
RESET = replace(SUMS, reset=True)
MODE = replace(SUMS, mode=Mode(0, "low", 99))


def check(commands: Commands, config: HardwareConfig) -> None:
    verifier = CommandVerifier(config)
    verifier.check("elaborate", commands)
    verifier.check_order("elaborate", commands, Footprints.of(commands.prototypes, config))


def test_legal_commands() -> None:
    """A copy begins before its tensor where that begins with padding."""
    check(columns_of([IMAGE, WEIGHT, RESET, SUMS, STORE]), TINY)
    check(columns_of([]), TINY)
    words = replace(IMAGE, memory=MemoryId.PAR, rows=1)
    check(columns_of([IMAGE, WEIGHT, words, replace(MODE, overwrite=True)]), EXTENDED)


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        (replace(IMAGE, sram=-1), r"elements -1 to 6 of INP, which has \d+$"),
        (replace(STORE, sram=ACCUMULATORS - 3), rf"of OUT, which has {ACCUMULATORS}$"),
        (replace(IMAGE, memory=MemoryId.PAR), "the machine has no PAR$"),
        (replace(IMAGE, stride=1 << 16), "x_stride 65536: 0 to 65535 is allowed$"),
        (replace(IMAGE, columns=1, pads=(16, 0, 0, 0)), "y_pad_0 16: 0 to 15 is allowed$"),
        (replace(SUMS, outer=Loop(2, ACCUMULATORS - 1)), rf"of ACC, which has {ACCUMULATORS}$"),
        (replace(SUMS, inner=Loop(2, 0, 1 << 12)), "of INP, which has"),
        (replace(SUMS, inner=Loop(2, 0, 0, 1 << 12)), "of WGT, which has"),
        (replace(SUMS, inner=Loop(1 << 14, 0, 0)), "iter_in 16384: 0 to 16383 is allowed$"),
        (replace(SUMS, outer=Loop(1, -1)), "dst_factor_out -1: 0 to"),
        (replace(SUMS, overwrite=True), "overwrite 1: 0 to 0 is allowed$"),
        (replace(SUMS, op=AluOp.ADD, from_inp=True), "from_inp 1: 0 to 0 is allowed$"),
        (replace(SUMS, op=AluOp.MOVE, imm=3), "the machine has no MOVE$"),
        (replace(SUMS, op=AluOp.ADD, imm=1 << 15), "imm 32768: -32768 to 32767 is allowed$"),
        (MODE, "the machine has no PAR$"),
        (replace(SUMS, kernel=Kernel(*((0,) * 999,) * 3)), r"999 micro-ops, of \d+ at most$"),
        (SetMode(), "modes and tables are set where streams are joined$"),
    ],
)
def test_a_command_that_the_machine_cannot_execute(command: Command, fault: str) -> None:
    with pytest.raises(LoweringError, match=f"^compiler bug.*: after drop-unused-loads: .*{fault}"):
        CommandVerifier(TINY).check("drop-unused-loads", columns_of([IMAGE, command]))


def test_parameters_lie_in_par() -> None:
    depth = EXTENDED.depth(MemoryId.PAR)
    beyond = replace(MODE, outer=Loop(2, 2, par=depth))
    with pytest.raises(LoweringError, match=f"elements 0 to {depth} of PAR, which has {depth}$"):
        CommandVerifier(EXTENDED).check("requantise-last-writes", columns_of([beyond]))


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"sites": ()}, r"columns of \[2, 2, 0\] commands$"),
        ({"dram": np.zeros(3, np.int64)}, r"columns of \[2, 3, 2\] commands$"),
        ({"which": np.array([0, 2])}, "prototypes 0 to 2 of 2$"),
        ({"which": np.array([-1, 1])}, "prototypes -1 to 1 of 2$"),
        ({"dram": np.array([8, 1])}, "a command that is no copy has an address in DRAM$"),
    ],
)
def test_columns_that_do_not_fit(changed: dict[str, object], fault: str) -> None:
    commands = replace(columns_of([IMAGE, RESET]), **changed)  # type: ignore[arg-type]
    with pytest.raises(LoweringError, match=fault):
        CommandVerifier(TINY).check("drop-unused-loads", commands)


READERS: dict[str, tuple[Command, ...]] = {
    "an operand": (WEIGHT, RESET, SUMS),
    "weights": (IMAGE, RESET, SUMS),
    "an old value": (IMAGE, WEIGHT, SUMS),
    "a STORE": (STORE,),
    "an operand of which a part is there": (replace(IMAGE, rows=1), WEIGHT, RESET, SUMS),
    "what is written too late": (IMAGE, WEIGHT, SUMS, RESET),
}


@pytest.mark.parametrize("commands", READERS.values(), ids=READERS)
def test_a_read_of_what_nothing_has_written(commands: tuple[Command, ...]) -> None:
    columns = columns_of(commands)
    CommandVerifier(TINY).check("elaborate", columns)
    with pytest.raises(LoweringError, match=r"after elaborate: command \d, .* reads what nothing"):
        check(columns, TINY)
