"""Everything that can go wrong while a program runs, and how the functional engine says it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config_files import load_config
from tandem.hw.errors import DeadlockError, HardwareError, ProgramError, UnitWait
from tandem.hw.faults import Fault
from tandem.hw.features import Feature
from tandem.hw.isa import (
    Alu,
    AluOp,
    Assembler,
    Loop,
    MemoryId,
    MicroOp,
    Program,
    Store,
    TokenQueue,
    Unit,
    pack_uops,
)
from tandem.sim.engine import Launch
from tandem.sim.errors import BusError, MemoryImageError, SimulationError
from tandem.sim.functional import FunctionalEngine
from tests.sim.functional.nonsense import nonsense
from tests.support.sim.launching import IMAGE_BYTES, launch

TINY = load_config("tiny")
EXTENDED = TINY.replace(name="extended", features=frozenset(Feature))
"""ACC 32 elements, INP 32, WGT 16."""
UOPS = 0x1000

Write = Callable[[Assembler], object]


def program_of(*writes: Write, finish: bool = True) -> Program:
    """A program of these instructions, after one that loads four micro-ops."""
    asm = Assembler(TINY)
    asm.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=4)
    for write in writes:
        write(asm)
    if finish:
        asm.finish()
    return asm.build()


def run(program: Program, *micro_ops: MicroOp, **how: Any) -> np.ndarray[Any, Any]:
    image = np.zeros(IMAGE_BYTES, dtype=np.uint8)
    words = np.frombuffer(pack_uops(TINY, micro_ops), dtype=np.uint8)
    image[UOPS : UOPS + len(words)] = words
    _, memory = launch(FunctionalEngine(program.config), program, image, **how)
    return memory


@pytest.mark.parametrize(
    ("loops", "micro_op", "memory", "index", "number"),
    [
        ((Loop(3, dst=15), Loop(2, dst=3)), MicroOp(dst=0), "ACC", 33, 5),
        ((Loop(3, dst=16), Loop(2, dst=1)), MicroOp(dst=2), "ACC", 34, 4),
        ((Loop(33, dst=1),), MicroOp(0), "ACC", 32, 32),
        ((Loop(2, src=31),), MicroOp(0, src=1), "INP", 32, 1),
        ((Loop(4, wgt=5), Loop(4, wgt=1)), MicroOp(0, wgt=1), "WGT", 16, 12),
        ((Loop(2), Loop(2, src=1)), MicroOp(0, src=31), "INP", 32, 1),
    ],
)
def test_gemm_indices_beyond_a_memory(
    loops: tuple[Loop, ...], micro_op: MicroOp, memory: str, index: int, number: int
) -> None:
    program = program_of(lambda asm: asm.gemm((0, 1), loops))

    with pytest.raises(ProgramError) as caught:
        run(program, micro_op, validate=False)

    assert (caught.value.fault, caught.value.instruction) == (Fault.SRAM_INDEX, 1)
    assert str(caught.value) == (
        f"instruction 1: GEMM reaches {memory} element {index} in its micro-op number {number}: "
        f"the memory has {16 if memory == 'WGT' else 32} [SRAM_INDEX]"
    )


def extended_program(*writes: Callable[[Assembler], object]) -> Program:
    asm = Assembler(EXTENDED)
    asm.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=4)
    for write in writes:
        write(asm)
    asm.finish()
    return asm.build()


@pytest.mark.parametrize(
    ("base", "factors", "loops", "index", "number"),
    [
        (255, (0, 1), (Loop(3), Loop(2)), 256, 2),
        (254, (1, 0), (Loop(3), Loop(2)), 256, 8),
        (250, (3, 2), (Loop(2), Loop(3)), 257, 10),
    ],
)
def test_parameters_beyond_par(
    base: int, factors: tuple[int, int], loops: tuple[Loop, ...], index: int, number: int
) -> None:
    program = extended_program(
        lambda asm: asm.requantise(base, factors),
        lambda asm: asm.alu(AluOp.ADD, (0, 2), loops, imm=1),
    )

    with pytest.raises(ProgramError) as caught:
        run(program, MicroOp(0), MicroOp(1), validate=False)

    assert (caught.value.fault, caught.value.instruction) == (Fault.SRAM_INDEX, 2)
    assert str(caught.value) == (
        f"instruction 2: ALU reaches PAR element {index} in its micro-op number {number}: "
        f"the memory has 256 [SRAM_INDEX]"
    )


@pytest.mark.parametrize("ends", [True, False])
def test_parameters_are_looked_at_only_while_results_are_requantised(ends: bool) -> None:
    writes = [
        lambda asm: asm.requantise(255, (1, 1)),
        lambda asm: asm.end_requantisation(),
        lambda asm: asm.gemm((0, 1), (Loop(2), Loop(2)), reset=True),
    ]
    program = extended_program(*writes[0 if ends else 1 :])
    run(program, MicroOp(0))


def test_inputs_beyond_inp() -> None:
    program = extended_program(
        lambda asm: asm.alu(AluOp.MOVE, (0, 1), (Loop(2, src=1),), from_inp=True)
    )

    with pytest.raises(ProgramError, match=r"ALU reaches INP element 32 .* number 1:") as caught:
        run(program, MicroOp(dst=0, src=31))

    assert caught.value.fault is Fault.SRAM_INDEX


def test_shifts_by_inputs_out_of_range() -> None:
    def load_amounts(asm: Assembler) -> None:
        asm.load(MemoryId.INP, sram=8, dram=UOPS // 4 + 1, columns=1, signals=Unit.COMPUTE)

    program = extended_program(
        load_amounts,
        lambda asm: asm.alu(AluOp.SHR, (0, 1), waits_for=Unit.LOAD, from_inp=True),
    )

    # The second micro-op's first byte is the amount: 10 << 5, of which the low byte is 64.
    with pytest.raises(ProgramError) as caught:
        run(program, MicroOp(dst=0, src=8), MicroOp(0, src=10))

    assert str(caught.value) == (
        "instruction 2: SHR by 64, out of INP element 8, in its micro-op number 0: "
        "it must lie in -31..31 [SHIFT]"
    )


def test_the_first_micro_op_at_fault_is_told_among_several() -> None:
    program = program_of(lambda asm: asm.gemm((0, 2), (Loop(4, src=8, dst=1), Loop(2))))

    # In steps of 8: micro-op 0 leaves INP in the third iteration, micro-op 1 in the second.
    with pytest.raises(ProgramError, match=r"INP element 33 in its micro-op number 5:"):
        run(program, MicroOp(0, src=16), MicroOp(0, src=25))


def test_indices_are_looked_at_only_where_they_are_used() -> None:
    far = (Loop(3, src=31, wgt=15), Loop(1))
    memory = run(
        program_of(
            lambda asm: asm.gemm((0, 1), far, reset=True),
            lambda asm: asm.alu(AluOp.ADD, (0, 1), (Loop(3, src=31), Loop(1)), imm=5),
            lambda asm: asm.nop(Unit.COMPUTE, signals=Unit.STORE),
            lambda asm: asm.store(
                sram=0, dram=0, columns=1, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE
            ),
            lambda asm: asm.nop(Unit.COMPUTE, waits_for=Unit.STORE),
        ),
        MicroOp(dst=0, src=31, wgt=15),
    )

    assert memory[:4].tolist() == [15] * 4


@pytest.mark.parametrize("validate", [True, False])
def test_alu_indices_beyond_acc(validate: bool) -> None:
    program = program_of(lambda asm: asm.alu(AluOp.ADD, (0, 1), (Loop(2, src=1),)))

    with pytest.raises(ProgramError, match=r"ALU reaches ACC element 32 .* number 1:") as caught:
        run(program, MicroOp(dst=0, src=31), validate=validate)

    assert caught.value.fault is Fault.SRAM_INDEX


@pytest.mark.parametrize("amount", [32, -32, 1 << 30, -(1 << 31)])
def test_tensor_shifts_out_of_range(amount: int) -> None:
    def load_amounts(asm: Assembler) -> None:
        asm.load(MemoryId.ACC, sram=8, dram=0x200 // 16, columns=1)

    image = np.zeros(IMAGE_BYTES, dtype=np.uint8)
    image[UOPS : UOPS + 8] = np.frombuffer(
        pack_uops(TINY, [MicroOp(0, 7), MicroOp(0, 8)]), dtype=np.uint8
    )
    image[0x200:0x210] = np.array([1, -31, amount, 31], dtype="<i4").view(np.uint8)
    program = program_of(load_amounts, lambda asm: asm.alu(AluOp.SHR, (0, 2)))

    with pytest.raises(ProgramError) as caught:
        launch(FunctionalEngine(program.config), program, image)

    assert (caught.value.fault, caught.value.instruction) == (Fault.SHIFT, 2)
    assert f"SHR by {amount}, out of ACC element 8, in its micro-op number 1" in str(caught.value)


@pytest.mark.parametrize(("held", "fault"), [(99, Fault.SHIFT), (9, Fault.SRAM_INDEX)])
def test_the_earlier_of_a_shift_and_an_index_at_fault_is_told(held: int, fault: Fault) -> None:
    program = program_of(
        lambda asm: asm.alu(AluOp.ADD, (0, 1), imm=held),
        lambda asm: asm.alu(AluOp.SHR, (1, 2), (Loop(2, src=29),)),
    )

    with pytest.raises(ProgramError) as caught:
        run(program, MicroOp(3), MicroOp(0, src=3))

    assert caught.value.fault is fault


def test_reads_and_writes_beyond_memory() -> None:
    beyond = (IMAGE_BYTES + 4096) // 4
    read = program_of(
        lambda asm: asm.load(MemoryId.INP, sram=0, dram=beyond - 4, rows=3, columns=1, stride=3)
    )
    with pytest.raises(BusError, match=r"instruction 1: LOAD of INP touches .* ends at") as caught:
        run(read)
    assert (caught.value.instruction, caught.value.write) == (1, False)

    write = program_of(lambda asm: asm.store(sram=0, dram=beyond - 1, columns=2))
    with pytest.raises(BusError, match=r"0x10ffc\.\.0x11004 .* ends at 0x11000") as caught:
        run(write)
    assert (caught.value.instruction, caught.value.write) == (1, True)


def test_base_registers_reach_beyond_memory() -> None:
    read = program_of(lambda asm: asm.load(MemoryId.INP, sram=0, dram=0, columns=1))

    with pytest.raises(BusError, match="LOAD of INP"):
        run(read, bases=(0, 0, (1 << 62) - 4, 0, 0, 0, 0))


@pytest.mark.parametrize(
    ("refused", "hit"),
    [((0x20C, 0x20D), True), ((0x208, 0x20C), False), ((0x210, 0x300), False), ((0, 1), False)],
)
def test_ranges_that_answer_with_errors(refused: tuple[int, int], hit: bool) -> None:
    def load_two_rows(asm: Assembler) -> None:
        asm.load(MemoryId.INP, sram=0, dram=0x204 // 4, rows=2, columns=1, stride=2)

    program = program_of(load_two_rows)

    if hit:
        with pytest.raises(BusError, match=r"bytes 0x20c\.\.0x210 .* error there") as caught:
            run(program, bus_errors=(refused,))
        assert (caught.value.instruction, caught.value.write) == (1, False)
    else:
        run(program, bus_errors=(refused,))


def test_a_fetch_that_is_answered_with_an_error() -> None:
    with pytest.raises(BusError, match="fetch of the program") as caught:
        run(program_of(), bus_errors=((IMAGE_BYTES + 16, IMAGE_BYTES + 17),))

    assert (caught.value.instruction, caught.value.write) == (None, False)


@pytest.mark.parametrize("validate", [True, False])
def test_deadlock_names_what_each_unit_waits_for(validate: bool) -> None:
    program = program_of(
        lambda asm: asm.nop(Unit.LOAD, waits_for=Unit.COMPUTE),
        lambda asm: asm.nop(Unit.COMPUTE, waits_for=(Unit.LOAD, Unit.STORE)),
        lambda asm: asm.nop(Unit.STORE, signals=Unit.COMPUTE),
    )

    with pytest.raises(DeadlockError) as caught:
        run(program, validate=validate)

    assert caught.value.waits == (
        UnitWait(Unit.LOAD, 1, (TokenQueue.COMPUTE_TO_LOAD,)),
        UnitWait(Unit.COMPUTE, 2, (TokenQueue.LOAD_TO_COMPUTE,)),
        UnitWait(Unit.STORE, None, ()),
    )


@pytest.mark.parametrize("validate", [True, False])
def test_a_full_queue_holds_up_dispatch(validate: bool) -> None:
    def waiting(count: int) -> Program:
        asm = Assembler(TINY)
        for _ in range(count):
            asm.nop(Unit.LOAD, waits_for=Unit.COMPUTE)
        for _ in range(count):
            asm.nop(Unit.COMPUTE, signals=Unit.LOAD)
        asm.finish()
        return asm.build()

    run(waiting(TINY.instruction_queue), validate=validate)
    with pytest.raises(DeadlockError, match=r"load waits at instruction 0 .*; compute is idle"):
        run(waiting(TINY.instruction_queue + 1), validate=validate)


@pytest.mark.parametrize("validate", [True, False])
def test_tokens_left_at_the_end(validate: bool) -> None:
    program = program_of(
        lambda asm: asm.nop(Unit.LOAD, signals=Unit.COMPUTE),
        lambda asm: asm.nop(Unit.LOAD, signals=Unit.COMPUTE),
    )

    with pytest.raises(ProgramError, match="2 in load->compute") as caught:
        run(program, validate=validate)

    assert caught.value.fault is Fault.TOKENS_LEFT


@pytest.mark.parametrize("validate", [True, False])
def test_a_program_without_finish(validate: bool) -> None:
    with pytest.raises(ProgramError, match="no FINISH") as caught:
        run(program_of(finish=False), validate=validate)

    assert caught.value.fault is Fault.NO_FINISH


def test_a_token_counter_that_overflows() -> None:
    asm = Assembler(TINY)
    for _ in range(65536):
        asm.nop(Unit.LOAD, signals=Unit.COMPUTE)
    asm.finish()

    with pytest.raises(ProgramError, match="token number 65536") as caught:
        run(asm.build(), validate=False)

    assert (caught.value.fault, caught.value.instruction) == (Fault.TOKEN_OVERFLOW, 65535)


def word(value: int) -> Write:
    """An instruction that the assembler has no name for, as its bits."""
    return lambda asm: asm._words.append(value.to_bytes(16, "little"))


def store_of(memory: MemoryId, pad: int = 0) -> Write:
    return lambda asm: asm.append(
        Store(
            memory=memory,
            sram_base=0,
            dram_base=0,
            y_size=1,
            x_size=1,
            x_stride=1,
            y_pad_0=pad,
        )
    )


def alu_of(**changes: Any) -> Write:
    fields: dict[str, Any] = dict(
        op=AluOp.SHR,
        use_imm=True,
        imm=0,
        uop_bgn=0,
        uop_end=1,
        iter_out=1,
        iter_in=1,
        dst_factor_out=0,
        dst_factor_in=0,
        src_factor_out=0,
        src_factor_in=0,
    )
    return lambda asm: asm.append(Alu(**(fields | changes)))


@pytest.mark.parametrize("validate", [True, False])
@pytest.mark.parametrize(
    ("fault", "write"),
    [
        (Fault.OPCODE, word(5)),
        (Fault.MEMORY_ID, word(0 | 6 << 7)),
        (Fault.LOAD_OUT, lambda asm: asm.load(MemoryId.OUT, sram=0, dram=0, columns=1)),
        (Fault.STORE_MEMORY, store_of(MemoryId.ACC)),
        (Fault.STORE_PAD, store_of(MemoryId.OUT, pad=1)),
        (Fault.NO_ROWS, lambda asm: asm.store(sram=0, dram=0, columns=1, rows=0)),
        (Fault.LOOP_COUNT, alu_of(iter_in=0)),
        (Fault.UOP_RANGE, alu_of(uop_bgn=1)),
        (Fault.UOP_RANGE, alu_of(uop_end=65)),
        (Fault.SHIFT, alu_of(imm=32)),
        (Fault.SRAM_RANGE, lambda asm: asm.load(MemoryId.ACC, sram=31, dram=0, columns=2)),
        (Fault.TOKEN_FLAG, word(0 | 1 << 3 | 2 << 7)),
        (Fault.FEATURE, word(4 | 1 << 14 | 1 << 21 | 1 << 35 | 5 << 69)),
        (Fault.AFTER_FINISH, lambda asm: asm.finish()),
    ],
)
def test_static_rules_are_kept_without_validation_too(
    fault: Fault, write: Write, validate: bool
) -> None:
    with pytest.raises(ProgramError) as caught:
        run(program_of(write), validate=validate)

    assert caught.value.fault is fault
    assert caught.value.instruction == (2 if fault is Fault.AFTER_FINISH else 1)


def test_a_program_that_memory_cannot_hold() -> None:
    engine = FunctionalEngine(TINY)

    with pytest.raises(MemoryImageError, match="memory ends at 0x10"):
        engine.launch(program_of(), np.zeros(16, dtype=np.uint8), Launch(address=0))


@given(
    seed=st.integers(0, 1 << 32),
    preset=st.sampled_from(["tiny", "small8", "pynq"]),
    extended=st.booleans(),
)
def test_nonsense_ends_in_a_typed_error_or_a_result(seed: int, preset: str, extended: bool) -> None:
    config = load_config(preset)
    if extended:
        config = config.replace(features=frozenset(Feature))
    program, image = nonsense(config, seed)

    with suppress(HardwareError, SimulationError):
        launch(FunctionalEngine(config), program, image, validate=False, max_cycles=100_000)
