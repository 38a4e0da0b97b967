from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tandem.compiler.machines.accelerator.lower.commands import (
    Command,
    Compute,
    Copy,
    Kernel,
    Loop,
    Mode,
    SetMode,
)
from tandem.compiler.machines.accelerator.lower.encode import encode_kernels, encode_stream
from tandem.compiler.machines.accelerator.lower.residency import KernelStore
from tandem.compiler.machines.accelerator.lower.tokens import NO_COMMAND, TokenedCommands
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.encoding import UOP_BYTES
from tandem.hw.errors import EncodingError
from tandem.hw.isa import Alu, Finish, Gemm, Instruction, Load, MicroOp, Requantise, Store, Tokens
from tandem.hw.isa.codec import decode_uop
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId, Unit
from tests.support.compiler.machines.accelerator.lower.command_columns import columns_of
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine

TINY = load_config("tiny")
EXTENDED = machine("extended")
KERNEL = Kernel((1, 7, 8), (2, 9, 10), (3, 11, 12))
LOADER, COMPUTER, STORER = Unit.LOAD, Unit.COMPUTE, Unit.STORE


def slots(
    commands: Sequence[int], unit: Unit, tokens: Sequence[tuple[set[Unit], set[Unit]]] = ()
) -> TokenedCommands:
    """Places of one unit."""
    bits = [[sum(1 << each for each in units) for units in pair] for pair in tokens]
    return TokenedCommands(
        np.array(commands, np.int64),
        np.full(len(commands), unit, np.int64),
        np.array(bits or [[0, 0]] * len(commands), np.int64),
    )


def encoded(
    commands: Sequence[Command],
    where: TokenedCommands,
    uop: int = 0,
    imm: int = 0,
    config: HardwareConfig = TINY,
) -> list[Instruction]:
    """All but FINISH, which is the last."""
    count = len(commands)
    columns = np.full(count, imm, np.int64), np.full(count, uop, np.int64)
    *found, last = encode_stream(columns_of(commands), *columns, where, config)
    assert last == Finish()
    return found


def one(
    command: Command, unit: Unit, uop: int = 0, imm: int = 0, config: HardwareConfig = TINY
) -> Instruction:
    (found,) = encoded([command], slots([0], unit), uop, imm, config)
    return found


def copy(memory: MemoryId, pads: tuple[int, int, int, int] = (0, 0, 0, 0), dram: int = 77) -> Copy:
    return Copy(memory=memory, sram=5, dram=dram, rows=2, columns=3, stride=9, pads=pads)


def compute(
    op: AluOp | None = None,
    imm: int | str | None = None,
    *,
    reset: bool = False,
    from_inp: bool = False,
) -> Compute:
    return Compute(
        kernel=KERNEL,
        outer=Loop(2, 3, 4, 5),
        inner=Loop(6, 7, 8, 9),
        op=op,
        imm=imm,
        reset=reset,
        from_inp=from_inp,
    )


@pytest.mark.parametrize("memory", [each for each in TINY.memories if each is not MemoryId.OUT])
def test_loads(memory: MemoryId) -> None:
    """Padding is above, below, left and right; the fields are before and after, of y and of x."""
    assert one(copy(memory, (1, 2, 3, 4)), LOADER) == Load(
        memory=memory,
        sram_base=5,
        dram_base=77,
        y_size=2,
        x_size=3,
        x_stride=9,
        y_pad_0=1,
        y_pad_1=2,
        x_pad_0=3,
        x_pad_1=4,
    )


def test_stores() -> None:
    assert one(copy(MemoryId.OUT), STORER) == Store(
        memory=MemoryId.OUT, sram_base=5, dram_base=77, y_size=2, x_size=3, x_stride=9
    )


@pytest.mark.parametrize("reset", [False, True])
def test_products(reset: bool) -> None:
    assert one(compute(reset=reset), COMPUTER, uop=20) == Gemm(
        reset=reset,
        uop_bgn=20,
        uop_end=23,
        iter_out=2,
        iter_in=6,
        dst_factor_out=3,
        dst_factor_in=7,
        src_factor_out=4,
        src_factor_in=8,
        wgt_factor_out=5,
        wgt_factor_in=9,
    )


@pytest.mark.parametrize("op", TINY.operations)
@pytest.mark.parametrize("imm", [None, 0, -3, 17])
def test_the_alu(op: AluOp, imm: int | None) -> None:
    """An immediate of 0 is one, too."""
    assert one(compute(op, imm), COMPUTER, uop=20) == Alu(
        op=op,
        use_imm=imm is not None,
        imm=0 if imm is None else imm,
        uop_bgn=20,
        uop_end=23,
        iter_out=2,
        iter_in=6,
        dst_factor_out=3,
        dst_factor_in=7,
        src_factor_out=4,
        src_factor_in=8,
    )


@pytest.mark.parametrize(
    ("unit", "neighbour", "which"),
    [
        (LOADER, COMPUTER, "next"),
        (COMPUTER, LOADER, "prev"),
        (COMPUTER, STORER, "next"),
        (STORER, COMPUTER, "prev"),
    ],
)
def test_tokens_are_of_neighbours(unit: Unit, neighbour: Unit, which: str) -> None:
    """Of each kind of instruction that a unit has: one flag, and no other."""
    commands: dict[Unit, list[Command]] = {
        LOADER: [copy(MemoryId.INP)],
        COMPUTER: [copy(MemoryId.ACC), compute(), compute(AluOp.ADD)],
        STORER: [copy(MemoryId.OUT)],
    }
    for command in commands[unit]:
        tokens = ({neighbour}, set[Unit]()), (set[Unit](), {neighbour})
        popping, pushing = encoded([command], slots([0, 0], unit, tokens))
        assert popping.tokens == Tokens(**{f"pop_{which}": True})
        assert pushing.tokens == Tokens(**{f"push_{which}": True})


def test_an_empty_command_is_a_load_of_compute_that_moves_nothing() -> None:
    where = slots([NO_COMMAND], COMPUTER, [({LOADER}, {LOADER, STORER})])
    found = encoded([compute(), copy(MemoryId.OUT)], where, uop=20, imm=3)
    assert found == [
        Load(
            memory=MemoryId.UOP,
            sram_base=0,
            dram_base=0,
            y_size=0,
            x_size=0,
            x_stride=0,
            tokens=Tokens(pop_prev=True, push_prev=True, push_next=True),
        )
    ]


def test_what_has_no_room_in_its_field_is_refused_by_name() -> None:
    wide, fine = copy(MemoryId.INP, (0, 0, 16, 0)), copy(MemoryId.INP)
    with pytest.raises(
        EncodingError, match=r"^instruction 1: LOAD x_pad_0 is 16: it must lie in 0..15$"
    ):
        encoded([fine, wide], slots([0, 1], LOADER))


def test_a_copy_begins_behind_its_prototype() -> None:
    commands = replace(columns_of([copy(MemoryId.INP)]), dram=np.array([100]))
    nothing = np.zeros(1, np.int64)
    found = encode_stream(commands, nothing, nothing, slots([0], LOADER), TINY)[0]
    assert isinstance(found, Load)
    assert found.dram_base == 177


def test_a_number_that_comes_with_the_operator_is_the_immediate() -> None:
    found = one(compute(AluOp.ADD, "n"), COMPUTER, imm=-9)
    assert isinstance(found, Alu)
    assert (found.use_imm, found.imm) == (True, -9)


def test_micro_ops_one_kernel_after_the_other() -> None:
    store = KernelStore()
    kernels = (KERNEL, Kernel((4,), (5,), (6,)))
    assert [store.place(each) for each in (*kernels, *kernels)] == [0, 3, 0, 3]
    data = encode_kernels(store, TINY)
    words = [data[at : at + UOP_BYTES] for at in range(0, len(data), UOP_BYTES)]
    assert [decode_uop(TINY, each) for each in words] == [
        MicroOp(1, 2, 3),
        MicroOp(7, 9, 11),
        MicroOp(8, 10, 12),
        MicroOp(4, 5, 6),
    ]


def test_an_index_that_a_micro_op_has_no_room_for_is_refused() -> None:
    """`tiny` has 32 accumulators."""
    store = KernelStore()
    store.place(Kernel((32,), (0,), (0,)))
    with pytest.raises(
        EncodingError, match=r"^micro-op 0: micro-op dst is 32: it must lie in 0..31$"
    ):
        encode_kernels(store, TINY)


# Features -----------------------------------------------------------------------------------------


def test_an_operand_in_inp_is_a_bit_of_the_alu() -> None:
    found = one(compute(AluOp.MOVE, from_inp=True), COMPUTER, config=EXTENDED)
    assert isinstance(found, Alu)
    assert (found.op, found.use_imm, found.from_inp) == (AluOp.MOVE, False, True)


def test_modes() -> None:
    mode = SetMode(Mode(5, -7, 9, 1 << 20), outer=2, inner=3)
    assert one(mode, COMPUTER, config=EXTENDED) == Requantise(
        active=True,
        low=-7,
        high=9,
        scale=1 << 20,
        par_base=5,
        par_factor_out=2,
        par_factor_in=3,
    )
    off = one(SetMode(), COMPUTER, config=EXTENDED)
    assert off == Requantise(active=False, low=0, high=0)


def test_loads_of_parameters() -> None:
    found = one(copy(MemoryId.PAR), LOADER, config=EXTENDED)
    assert isinstance(found, Load)
    assert (found.memory, found.sram_base, found.dram_base) == (MemoryId.PAR, 5, 77)


def test_modes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(EncodingError, match=r"instruction 0: .*low"):
        one(SetMode(Mode(0, -129, 0)), COMPUTER, config=EXTENDED)
