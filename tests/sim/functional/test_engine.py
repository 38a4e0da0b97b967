"""Launches of the functional engine: limits, errors with their texts, what stays and what does not;
as a machine among others: `test_runs`, faults of all kinds: `test_faults`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.errors import DeadlockError, ProgramError, UnitWait
from tandem.hw.faults import Fault
from tandem.hw.isa import AluOp, Assembler, Loop, MemoryId, TokenQueue, Unit
from tandem.sim.engine import Launch, Stalls
from tandem.sim.errors import BusError, CycleLimitError, EngineError
from tandem.sim.events import EventKind
from tandem.sim.functional.engine import FunctionalEngine
from tandem.sim.result import Result

TINY = load_config("tiny")
EXTENDED = load_config("tiny-x")


def looping(count: int = 6) -> Assembler:
    """Micro-op 0, which is 0, so often."""
    asm = Assembler(TINY)
    asm.alu(AluOp.ADD, (0, 1), (Loop(count),), imm=1)
    asm.finish()
    return asm


def launched(asm: Assembler, engine: FunctionalEngine | None = None, **how: Any) -> Result:
    machine = engine or FunctionalEngine(TINY)
    return machine.launch(asm.build(), np.zeros(4096, np.uint8), Launch(address=1024, **how))


def test_a_result() -> None:
    found = launched(looping())
    assert (found.engine, found.cycles, found.units) == ("functional", None, None)
    assert found.work.alu_uops == 6
    assert found.seconds > 0
    assert found.events == ()
    kinds = [event.kind for event in launched(looping(), events=True).events]
    assert kinds == [EventKind.START, EventKind.END] * 2


def test_the_limit_is_exact_and_its_error_tells_what_was_done() -> None:
    launched(looping(), max_cycles=6)
    with pytest.raises(CycleLimitError) as caught:
        launched(looping(), max_cycles=5)
    assert caught.value.max_cycles == 5
    assert str(caught.value) == "still running after 5 cycles: 6 micro-ops were done"
    launched(looping(), max_cycles=1 << 80)


@pytest.mark.parametrize(("option", "value"), [("stalls", Stalls(0.1)), ("waveform", "a.vcd")])
def test_options_without_a_bus(option: str, value: Any) -> None:
    with pytest.raises(EngineError) as caught:
        launched(looping(), **{option: value})
    assert str(caught.value) == f"the functional engine has no {option}: it has no bus signals"


def test_fetch_of_a_program_that_memory_refuses() -> None:
    """Its two instructions lie at 1024 to 1055."""
    for free in ((1000, 1024), (1056, 1060), (1040, 1040)):
        launched(looping(), bus_errors=(free,))
    for refused in ((1000, 1025), (1055, 1056), (1030, 1031)):
        with pytest.raises(BusError) as caught:
            launched(looping(), bus_errors=((0, 8), refused))
        first, last = refused
        assert str(caught.value) == (
            "fetch of the program at 0x400..0x420 (end excluded): memory answers with an error in "
            f"{first:#x}..{last:#x} [BUS_READ]"
        )
        assert (caught.value.instruction, caught.value.write) == (None, False)


def test_a_deadlock_tells_what_each_unit_waits_for() -> None:
    asm = Assembler(TINY)
    asm.nop(Unit.LOAD)
    asm.nop(Unit.COMPUTE, waits_for=Unit.STORE, signals=Unit.LOAD)
    asm.nop(Unit.STORE, signals=Unit.COMPUTE)
    asm.nop(Unit.COMPUTE, waits_for=(Unit.STORE, Unit.LOAD))
    asm.nop(Unit.STORE, waits_for=Unit.COMPUTE)
    asm.finish()
    with pytest.raises(DeadlockError) as caught:
        launched(asm)
    waits = caught.value.waits
    assert waits == (
        UnitWait(Unit.LOAD, None, ()),
        UnitWait(Unit.COMPUTE, 3, (TokenQueue.LOAD_TO_COMPUTE, TokenQueue.STORE_TO_COMPUTE)),
        UnitWait(Unit.STORE, 4, (TokenQueue.COMPUTE_TO_STORE,)),
    )


def test_of_two_tokens_the_one_that_is_there_is_not_waited_for() -> None:
    asm = Assembler(TINY)
    asm.nop(Unit.LOAD, signals=Unit.COMPUTE)
    asm.nop(Unit.COMPUTE, waits_for=(Unit.STORE, Unit.LOAD))
    asm.finish()
    with pytest.raises(DeadlockError) as caught:
        launched(asm)
    assert caught.value.waits[1].queues == (TokenQueue.STORE_TO_COMPUTE,)


def test_tokens_that_are_left_are_counted() -> None:
    asm = Assembler(TINY)
    asm.nop(Unit.LOAD, signals=Unit.COMPUTE)
    asm.nop(Unit.LOAD, signals=Unit.COMPUTE)
    asm.nop(Unit.STORE, signals=Unit.COMPUTE)
    asm.finish()
    with pytest.raises(ProgramError) as caught:
        launched(asm)
    text = "tokens are left at the end: 2 in load->compute, 1 in store->compute"
    assert str(caught.value) == f"program: {text} [TOKENS_LEFT]"
    assert caught.value.instruction is None


def test_a_fault_at_run_time_tells_the_bytes() -> None:
    asm = Assembler(TINY)
    asm.load(MemoryId.INP, sram=0, dram=1023, columns=2)
    asm.finish()
    with pytest.raises(BusError) as caught:
        launched(asm)
    assert str(caught.value) == (
        "instruction 0: LOAD of INP touches bytes 0xffc..0x1004 (end excluded): physical memory "
        "ends at 0x1000 [BUS_READ]"
    )


def test_a_rule_that_an_instruction_breaks_by_itself_needs_no_details() -> None:
    asm = Assembler(TINY)
    asm.load(MemoryId.INP, sram=TINY.depth(MemoryId.INP), dram=0, columns=1)
    asm.finish()
    with pytest.raises(ProgramError) as caught:
        launched(asm, validate=False)
    assert (caught.value.fault, caught.value.instruction) == (Fault.SRAM_RANGE, 0)
    # SHR by an immediate is checked before the run, by an operand in it.
    shift = Assembler(TINY)
    shift.alu(AluOp.SHR, (0, 1), imm=40)
    shift.finish()
    with pytest.raises(ProgramError) as caught:
        launched(shift, validate=False)
    assert caught.value.fault is Fault.SHIFT
    assert "40" in str(caught.value)
    assert "micro-op" not in str(caught.value)


def test_slices_adapt_and_progress_tells_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 16 multipliers, a first slice of 48 products has 3 micro-ops; the next are twice as
    long, as none takes any time."""
    monkeypatch.setattr("tandem.sim.functional.engine.FIRST_SLICE_MACS", 50)
    monkeypatch.setattr("tandem.sim.functional.engine.perf_counter", lambda: 0.0)
    seen: list[int] = []
    launched(looping(30), progress=seen.append)
    assert seen == [3, 9, 21]
    monkeypatch.setattr("tandem.sim.functional.engine.FIRST_SLICE_MACS", 15)
    seen.clear()
    launched(looping(4), progress=seen.append)
    assert seen == [1, 3]


def test_memories_stay_and_the_mode_does_not() -> None:
    engine = FunctionalEngine(EXTENDED)
    asm = Assembler(EXTENDED)
    asm.load(MemoryId.UOP, sram=1, dram=0, columns=1)
    asm.requantise(3)
    asm.finish()
    memory = np.zeros(4096, np.uint8)
    memory[:4] = 1, 2, 3, 4
    engine.launch(asm.build(), memory, Launch(address=1024))
    words = engine.micro_ops()
    assert words[:3].tolist() == [0, 0x04030201, 0]
    # A copy.
    words[0] = 9
    assert engine.micro_ops()[0] == 0
    requantiser = engine._requantiser
    assert requantiser is not None
    assert requantiser.mode.any()
    end = Assembler(EXTENDED)
    end.finish()
    engine.launch(end.build(), memory, Launch(address=1024))
    assert not requantiser.mode.any()
    assert engine.micro_ops()[1] == 0x04030201


def test_it_is_prepared_once_and_only_for_data(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr("tandem.sim.functional.engine.prepare", lambda *how: calls.append(len(how)))
    engine = FunctionalEngine(TINY)
    engine.prepare(data=False)
    assert calls == []
    engine.prepare()
    engine.prepare()
    # The function, and its ten arguments.
    assert calls == [11]
