"""Accesses of a program, element by element."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.features import Feature
from tandem.hw.hazards.accesses import ACCESSES, Access, Accesses, accesses_of
from tandem.hw.hazards.dram import rectangles_of
from tandem.hw.hazards.dram_pieces import pieces_of
from tandem.hw.hazards.hazard_report import Unknown
from tandem.hw.isa import (
    Alu,
    AluOp,
    Gemm,
    Instruction,
    Load,
    MemoryId,
    MicroOp,
    Program,
    Requantise,
    Store,
    Unit,
    pack_uops,
)

TINY = load_config("tiny").replace(name="extended", features=frozenset(Feature))
BASES = (0, 0, 0, 0, 0, 0, 0)
LOAD = Load(memory=MemoryId.UOP, sram_base=0, dram_base=0, y_size=1, x_size=1, x_stride=1)
STORE = Store(memory=MemoryId.OUT, sram_base=2, dram_base=0, y_size=1, x_size=3, x_stride=3)
GEMM = Gemm(
    reset=False,
    uop_bgn=0,
    uop_end=1,
    iter_out=1,
    iter_in=2,
    dst_factor_out=0,
    dst_factor_in=1,
    src_factor_out=0,
    src_factor_in=2,
    wgt_factor_out=0,
    wgt_factor_in=3,
)
ALU = Alu(
    op=AluOp.ADD,
    use_imm=False,
    imm=0,
    uop_bgn=0,
    uop_end=1,
    iter_out=1,
    iter_in=2,
    dst_factor_out=0,
    dst_factor_in=1,
    src_factor_out=0,
    src_factor_in=1,
)
IMAGE = np.zeros(256, np.uint8)
IMAGE[:4] = np.frombuffer(pack_uops(TINY, [MicroOp(4, 1, 2)]), np.uint8)
Found = dict[tuple[MemoryId | None, Unit, bool], list[tuple[int, int]]]


def accesses(
    *program: Instruction, image: npt.NDArray[np.uint8] | None = IMAGE, started: int | None = None
) -> tuple[Accesses, list[Found]]:
    """What `accesses_of` finds, and by instruction the runs of each kind of access on chip."""
    columns = Program.from_instructions(TINY, program).columns()
    pieces = pieces_of(rectangles_of(TINY, columns, BASES))
    sequence = np.arange(len(program) if started is None else started)
    found = accesses_of(TINY, columns, sequence, pieces, 0, image)
    by_instruction: list[Found] = []
    for kinds, which in zip(found.kinds.tolist(), found.which.tolist(), strict=True):
        own = {}
        for kind, number in zip(kinds, which, strict=True):
            if number >= 0:
                access = ACCESSES[kind]
                own[access.memory, access.unit, access.writes] = [*found.sets.runs(number)]
        by_instruction.append(own)
    return found, by_instruction


def test_kinds_that_can_conflict() -> None:
    assert len(ACCESSES) == 11
    assert Access(None, Unit.COMPUTE, False) in ACCESSES
    assert not any(each.memory is MemoryId.UOP for each in ACCESSES)


def test_loads_and_stores() -> None:
    """Without a STORE near them, LOADs access the chip alone; padding is written, too."""
    inp = replace(LOAD, memory=MemoryId.INP, sram_base=5, y_size=2, x_size=3, x_stride=3)
    _, found = accesses(
        inp,
        replace(inp, memory=MemoryId.WGT, x_pad_0=1, y_pad_1=1),
        replace(inp, memory=MemoryId.ACC_8BIT),
        replace(inp, memory=MemoryId.PAR),
        LOAD,
        replace(inp, x_size=0),
    )
    assert found == [
        {(MemoryId.INP, Unit.LOAD, True): [(5, 11)]},
        {(MemoryId.WGT, Unit.LOAD, True): [(5, 17)]},
        {(MemoryId.ACC, Unit.COMPUTE, True): [(5, 11)]},
        {(MemoryId.PAR, Unit.LOAD, True): [(5, 11)]},
        {},
        {},
    ]
    # A STORE of 12 bytes, 0 to 12; LOADs of 4 bytes, of 16 and of UOP.
    _, found = accesses(
        STORE,
        replace(LOAD, memory=MemoryId.INP, dram_base=2),
        replace(LOAD, memory=MemoryId.INP, dram_base=3),
        replace(LOAD, memory=MemoryId.ACC),
        LOAD,
    )
    assert found[0] == {
        (None, Unit.STORE, True): [(0, 3)],
        (MemoryId.ACC, Unit.STORE, False): [(2, 5)],
    }
    assert found[1][None, Unit.LOAD, False] == [(2, 3)]
    assert found[2] == {(MemoryId.INP, Unit.LOAD, True): [(0, 1)]}
    assert found[3][None, Unit.COMPUTE, False] == [(0, 4)]
    assert found[4] == {(None, Unit.COMPUTE, False): [(0, 1)]}


def test_products_and_operations() -> None:
    """Of the micro-op 4, 1, 2 in two iterations."""
    _, found = accesses(
        LOAD,
        GEMM,
        replace(GEMM, reset=True),
        ALU,
        replace(ALU, from_inp=True),
        Requantise(active=True, par_base=6, par_factor_in=2),
        replace(ALU, use_imm=True),
    )
    acc = {(MemoryId.ACC, Unit.COMPUTE, True): [(4, 6)]}
    inp = (MemoryId.INP, Unit.COMPUTE, False)
    assert found[1] == {
        **acc,
        inp: [(1, 2), (3, 4)],
        (MemoryId.WGT, Unit.COMPUTE, False): [(2, 3), (5, 6)],
    }
    # Reads of ACC conflict with nothing.
    assert found[2] == found[3] == acc
    assert found[4] == {**acc, inp: [(1, 3)]}
    assert found[6] == {**acc, (MemoryId.PAR, Unit.COMPUTE, False): [(6, 7), (8, 9)]}


def test_what_is_not_known() -> None:
    found, by_instruction = accesses(GEMM, LOAD, GEMM, replace(GEMM, iter_in=31))
    assert found.unknown[Unknown.UNLOADED].tolist() == [0]
    assert found.unknown[Unknown.BEYOND_MEMORY].tolist() == [3]
    assert [bool(each) for each in by_instruction] == [False, False, True, False]
    found, by_instruction = accesses(LOAD, GEMM, image=None)
    assert found.unknown[Unknown.NO_IMAGE].tolist() == [1]
    assert by_instruction[1] == {}


@pytest.mark.parametrize(
    ("program", "stored"),
    [
        ((STORE, LOAD, GEMM), [2]),
        ((LOAD, STORE, GEMM), []),
        ((STORE, replace(LOAD, dram_base=2), GEMM), [2]),
        ((STORE, replace(LOAD, dram_base=3), GEMM), []),
        # In the gap between two rows of the STORE.
        (
            (replace(STORE, y_size=2, x_size=1, x_stride=4), replace(LOAD, dram_base=2), GEMM),
            [],
        ),
        ((LOAD, STORE, replace(LOAD, sram_base=1, dram_base=3), GEMM), []),
    ],
)
def test_micro_ops_that_a_store_wrote(program: tuple[Instruction, ...], stored: list[int]) -> None:
    found, _ = accesses(*program)
    assert found.unknown[Unknown.STORED].tolist() == stored


def test_instructions_that_never_start_access_nothing() -> None:
    _, found = accesses(LOAD, STORE, GEMM, started=2)
    assert [bool(each) for each in found] == [True, True, False]
    _, found = accesses(LOAD, STORE, started=0)
    assert found == [{}, {}]
