from __future__ import annotations

from dataclasses import replace

import numpy as np

from compiler.lower.accelerator.commands import (
    Command,
    Compute,
    Copy,
    Kernel,
    Loop,
    unit_of_command,
)
from hw.operations import AluOp
from hw.topology import MemoryId, Unit
from tests.support.command_columns import columns_of
from tests.support.command_machine import micro_ops


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
    }
    assert unit_of_command(compute()) is Unit.COMPUTE


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
