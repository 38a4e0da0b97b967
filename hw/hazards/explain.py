"""Races explained in a sentence: the accesses, and the tokens that would order them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tandem.hw.hazards.hazard_report import Race
from tandem.hw.isa.disasm import disassemble
from tandem.hw.isa.program import Program
from tandem.hw.topology import MemoryId, TokenQueue, Unit


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two unordered instructions that access `address` of `memory`.

    `address` is an element, or a physical byte of DRAM where `memory` is None. `earlier` and
    `later` are instructions, in the execution order.
    """

    earlier: int
    later: int
    memory: MemoryId | None
    address: int
    later_writes: bool


def race_of(program: Program, units: Sequence[int], conflict: Conflict) -> Race:
    """The conflict as a race; `units` has the unit that executes each instruction."""
    first, second = sorted((conflict.earlier, conflict.later))
    first_writes = conflict.later_writes == (conflict.later == first)
    queues = _path(Unit(units[first]), Unit(units[second]))
    where = _where(conflict.memory, conflict.address)
    does = ("writes" if first_writes else "reads", "reads" if first_writes else "writes")
    explanation = (
        f"instruction {first} ({_text(program, first)}) {does[0]} {where} and "
        f"instruction {second} ({_text(program, second)}) {does[1]} it, in no order: "
        f"{_remedy(queues, first, second)} would order them"
    )
    return Race(
        first=first,
        second=second,
        memory=conflict.memory,
        address=conflict.address,
        first_writes=first_writes,
        second_writes=not first_writes,
        queues=queues,
        explanation=explanation,
    )


def _text(program: Program, position: int) -> str:
    """An instruction as the disassembler shows it, without its index."""
    line = disassemble(Program(program.config, program.word(position)))
    return " ".join(line.split()[1:])


def _where(memory: MemoryId | None, address: int) -> str:
    if memory is None:
        return f"DRAM byte {address:#x}"
    name = "ACC/OUT" if memory is MemoryId.ACC else memory.name
    return f"{name} element {address}"


def _path(first: Unit, second: Unit) -> tuple[TokenQueue, ...]:
    """The queues that lead from one unit to another."""
    step = 1 if second > first else -1
    ends = {(queue.producer, queue.consumer): queue for queue in TokenQueue}
    return tuple(ends[Unit(at), Unit(at + step)] for at in range(int(first), int(second), step))


def _remedy(queues: tuple[TokenQueue, ...], first: int, second: int) -> str:
    if len(queues) == 1:
        return f"a token {queues[0]} from {first} or later to {second} or earlier"
    one, other = queues
    return f"tokens {one} from {first} or later and on by {other} to {second} or earlier"
