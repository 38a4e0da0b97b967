from __future__ import annotations

from dataclasses import replace

import numpy as np

from tandem.compiler.machines.accelerator.lower.commands import (
    Command,
    Compute,
    Copy,
    Kernel,
    Loop,
    Mode,
    SetMode,
    SetTable,
    unit_of_command,
)
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId, Unit
from tests.support.compiler.machines.accelerator.lower.command_columns import columns_of
from tests.support.compiler.machines.accelerator.lower.command_machine import micro_ops


def copy(memory: MemoryId, rows: int = 2, pads: tuple[int, int, int, int] = (0, 0, 0, 0)) -> Copy:
    return Copy(
        memory=memory,
        sram=4,
        dram=100,
        rows=rows,
        columns=5,
        stride=9,
        pads=pads,
    )


def compute(op: AluOp | None = None, imm: int | None = None, *, reset: bool = False) -> Compute:
    return Compute(
        kernel=Kernel((1, 7), (2, 8), (3, 9)),
        outer=Loop(2, 10, 20, 30),
        inner=Loop(3, 1, 2, 3),
        op=op,
        imm=imm,
        reset=reset,
    )


def test_columns_are_the_commands_in_their_order() -> None:
    """Equal ones are one prototype; what is taken keeps its place of origin."""
    wanted: list[Command] = [compute(), copy(MemoryId.INP), compute(), copy(MemoryId.OUT)]
    found = columns_of(wanted, ("out", (("y", 3),)))
    assert (len(found), len(found.prototypes)) == (4, 3)
    assert list(found) == wanted
    moved = replace(found, dram=np.array([0, 40, 0, -100]))
    assert [moved[at] for at in (1, 3)] == [
        replace(copy(MemoryId.INP), dram=140),
        replace(copy(MemoryId.OUT), dram=0),
    ]
    taken = moved.take(np.array([3, 0]))
    assert list(taken) == [moved[3], wanted[0]]
    assert taken.sites == (("out", (("y", 3),)),) * 2
    assert len(columns_of([])) == 0


def test_how_much_a_copy_fills() -> None:
    assert (copy(MemoryId.INP).width, copy(MemoryId.INP).size) == (5, 10)
    padded = copy(MemoryId.INP, pads=(1, 2, 3, 4))
    assert (padded.width, padded.size) == (12, 60)


def test_who_executes_what() -> None:
    found = {memory: unit_of_command(copy(memory)) for memory in MemoryId}
    assert found == {
        MemoryId.UOP: Unit.COMPUTE,
        MemoryId.WGT: Unit.LOAD,
        MemoryId.INP: Unit.LOAD,
        MemoryId.ACC: Unit.COMPUTE,
        MemoryId.OUT: Unit.STORE,
        MemoryId.ACC_8BIT: Unit.COMPUTE,
        MemoryId.PAR: Unit.LOAD,
        MemoryId.WGT_CODES: Unit.LOAD,
    }
    assert unit_of_command(SetTable(upper=True, entries=(0,) * 8)) is Unit.LOAD
    assert unit_of_command(compute()) is Unit.COMPUTE
    assert unit_of_command(SetMode()) is Unit.COMPUTE


def test_which_operands_are_read() -> None:
    """The source of a GEMM and of the ALU, unless it resets or has an immediate."""
    found = [
        (command.reads_src, command.reads_wgt)
        for command in (
            compute(),
            compute(reset=True),
            compute(AluOp.ADD),
            compute(AluOp.ADD, 0),
        )
    ]
    assert found == [(True, True), (False, False), (True, False), (False, False)]
    assert compute(AluOp.ADD).source is MemoryId.ACC
    assert compute().source is replace(compute(AluOp.ADD), from_inp=True).source is MemoryId.INP


def test_which_accumulators_are_kept() -> None:
    kinds = (compute(), compute(AluOp.ADD), compute(reset=True), compute(AluOp.MOVE, 3))
    assert [each.keeps for each in kinds] == [True, True, False, False]
    assert not replace(compute(), overwrite=True).keeps


def test_indices_of_parameters() -> None:
    """Loops have strides in PAR, micro-ops no index of it."""
    command = replace(
        compute(),
        outer=Loop(2, par=10),
        inner=Loop(3, par=1),
        mode=Mode(5, "low", 7),
    )
    assert command.table("par").tolist() == [
        [[5, 5], [6, 6], [7, 7]],
        [[15, 15], [16, 16], [17, 17]],
    ]
    assert SetMode.of(command, {"low": -3}) == SetMode(Mode(5, -3, 7, 0), 10, 1)
    assert SetMode.of(compute(), {}) == SetMode()


def test_loops_that_step_through_parameters_differently_stay_apart() -> None:
    inner = Loop(3, 1, 0, 0, 1)
    assert Loop(2, 3, 0, 0, 3).follows(inner)
    assert not Loop(2, 3, 0, 0, 1).follows(inner)


def test_indices_in_the_machines_order() -> None:
    command = compute()
    every = zip(*(command.indices(name).tolist() for name in ("dst", "src", "wgt")), strict=True)
    assert list(every) == list(micro_ops(command))


def test_as_text() -> None:
    assert str(copy(MemoryId.INP, pads=(1, 0, 2, 0))) == (
        "inp[4 :+ 21] <- dram[100 :+ 5 x 2 by 9] pads (1, 0, 2, 0)"
    )
    assert str(copy(MemoryId.OUT, rows=1)) == "out[4 :+ 5] -> dram[100 :+ 5]"
    assert str(compute()) == "gemm 2 x 3 x 2 micro-ops from acc[1], inp[2], wgt[3]"
    assert str(compute(reset=True)) == "reset 2 x 3 x 2 micro-ops from acc[1]"
    assert str(compute(AluOp.MAX)) == "max 2 x 3 x 2 micro-ops from acc[1], acc[2]"
    assert str(compute(AluOp.SHR, 4)) == "shr 4 2 x 3 x 2 micro-ops from acc[1]"
    residual = replace(compute(AluOp.RESIDUAL), from_inp=True, mode=Mode(6, "low", 9, 12))
    assert str(residual) == (
        "residual 2 x 3 x 2 micro-ops from acc[1], inp[2], requantised by par[6] to low..9, "
        "+ 12 * inp"
    )
    assert str(SetMode()) == "requantise off"
    assert str(SetMode(Mode(6, -1, 9, 12), 3, 4)) == (
        "requantise par[6 + 3 outer + 4 inner] to -1..9 scale 12"
    )


def test_equal_kernels_are_one_key() -> None:
    first = Kernel((0, 1), (2, 3), (4, 5))
    assert hash(Kernel((0, 1), (2, 3), (4, 5))) == hash(first)
    assert {first: "here"}[Kernel((0, 1), (2, 3), (4, 5))] == "here"
    for other in (
        Kernel((0, 2), (2, 3), (4, 5)),
        Kernel((0, 1), (2, 4), (4, 5)),
        Kernel((0, 1), (2, 3), (4, 6)),
    ):
        assert other != first
        assert other not in {first}


def test_some_micro_ops_of_a_kernel() -> None:
    kernel = Kernel((4, 5, 6), (1, 2, 3), (7, 8, 9))
    assert kernel.only([2, 0]) == Kernel((6, 4), (3, 1), (9, 7))
    assert len(kernel.only(())) == 0
