"""Converts the error registers of a stopped machine to the exceptions that all engines raise."""

from __future__ import annotations

from collections.abc import Callable

from tandem.hw.errors import DeadlockError, ProgramError, UnitWait
from tandem.hw.faults import Fault
from tandem.hw.isa import MemoryId, Opcode, Program, Unit
from tandem.hw.isa.diagnostics import describe
from tandem.hw.operations import MAX_SHIFT
from tandem.hw.registers import NO_INSTRUCTION, Waits
from tandem.hw.topology import MAX_TOKENS, POPS
from tandem.sim.errors import BusError, EngineError
from tandem.sim.semantics.report import bus_timeout_error

Read = Callable[[str], int]
"""A function that returns the value of the register with a name."""


def failure(program: Program, memory_bytes: int, bus_timeout: int, read: Read) -> Exception:
    """The exception for the fault that stopped `program`; `read` returns registers by name."""
    code = read("error_code")
    found = read("error_instruction")
    culprit = None if found == NO_INSTRUCTION else found
    if code not in set(Fault) or (culprit is not None and culprit >= len(program)):
        return EngineError(f"the design stopped with code {code} at instruction {found}")
    fault = Fault(code)
    match fault:
        case Fault.NONE:
            return EngineError("the design raised its interrupt with neither a result nor a fault")
        case Fault.DEADLOCK:
            return DeadlockError(tuple(_wait(unit, read) for unit in Unit))
        case Fault.BUS_READ | Fault.BUS_WRITE:
            return _bus_error(program, culprit, fault, memory_bytes)
        case Fault.BUS_TIMEOUT:
            return bus_timeout_error(program, culprit, read("error_address"), bus_timeout)
    return ProgramError(fault, culprit, _complaint(program, culprit, fault))


def _wait(unit: Unit, read: Read) -> UnitWait:
    name = unit.name.lower()
    waits = Waits(read(f"{name}_waits"))
    if Waits.ACTIVE not in waits:
        return UnitWait(unit, None, ())
    sides = zip((Waits.PREV, Waits.NEXT), POPS[unit], strict=True)
    missing = [queue for side, queue in sides if queue is not None and side in waits]
    return UnitWait(unit, read(f"{name}_instruction"), tuple(sorted(missing)))


def _bus_error(program: Program, culprit: int | None, fault: Fault, memory_bytes: int) -> BusError:
    write = fault is Fault.BUS_WRITE
    if culprit is None:
        subject, access = "program", "the fetch of instructions"
    else:
        columns = program.columns()
        kind = Opcode(int(columns.opcode[culprit])).name
        memory = MemoryId(int(columns.memory_type[culprit])).name
        subject, access = f"instruction {culprit}", f"{kind} of {memory}"
    return BusError(
        culprit,
        write=write,
        message=f"{subject}: memory answered {access} with an error "
        f"(physical memory ends at {memory_bytes:#x}) [{fault.name}]",
    )


def _complaint(program: Program, culprit: int | None, fault: Fault) -> str:
    match fault:
        case Fault.NO_FINISH:
            return "it has no FINISH, which must end it"
        case Fault.TOKENS_LEFT:
            return "tokens are left at the end"
        case Fault.TOKEN_OVERFLOW:
            return f"it pushes token number {MAX_TOKENS + 1} into a queue"
    if culprit is None:
        return "the machine stopped"
    columns = program.columns()
    kind = f"opcode {int(columns.opcode[culprit])}"
    if columns.opcode[culprit] in set(Opcode):
        kind = Opcode(int(columns.opcode[culprit])).name
    match fault:
        case Fault.SRAM_INDEX:
            return f"{kind} reaches beyond a memory with one of its micro-ops"
        case Fault.SHIFT if not columns.use_imm[culprit]:
            return f"{kind} by an ACC element's value: it must lie in {-MAX_SHIFT}..{MAX_SHIFT}"
    return describe(program.config, columns, culprit, fault)
