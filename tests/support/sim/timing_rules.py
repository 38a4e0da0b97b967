"""Checks the events of a run against the timing rules of docs/timing.md.

Each check predicts cycles from the program, the configuration and earlier events of the same run,
so that a difference points at one rule. What depends on the bus (when an instruction arrives, a
LOAD has its data, a burst is acknowledged) is taken from the events or bounded.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import Opcode
from tandem.hw.isa import Program
from tandem.hw.isa.columns import Columns
from tandem.hw.timing import out_delay
from tandem.hw.topology import MemoryId, TokenQueue, Unit
from tandem.sim.events import EventKind
from tandem.sim.result import Result
from tests.support.sim.issue_times import issue_times, slots_of
from tests.support.sim.reference import Image


@dataclass
class Times:
    """The cycles of each instruction's events, and of each queue's pushes and pops."""

    at: dict[EventKind, dict[int, int]] = field(
        default_factory=lambda: {kind: {} for kind in EventKind}
    )
    pushes: dict[TokenQueue, list[int]] = field(default_factory=lambda: defaultdict(list))
    pops: dict[TokenQueue, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    """Cycle and instruction."""

    @classmethod
    def of(cls, result: Result) -> Times:
        """The times of a run with events."""
        times = cls()
        for event in result.events:
            assert event.cycle is not None
            if event.queue is None:
                times.at[event.kind][event.instruction] = event.cycle
            elif event.kind is EventKind.PUSH:
                times.pushes[event.queue].append(event.cycle)
            else:
                times.pops[event.queue].append((event.cycle, event.instruction))
        return times


class TimingRules:
    """The rules for one run of `program`, to the end and without a fault.

    `image` is DRAM before the run; all bases are 0.
    """

    def __init__(self, program: Program, result: Result, image: Image) -> None:
        self.config: HardwareConfig = program.config
        self.result = result
        self.columns: Columns = program.columns()
        self.opcodes = [Opcode(int(opcode)) for opcode in self.columns.opcode]
        units = program.units()
        self.by_unit = {
            unit: [index for index in range(len(program)) if units[index] == unit] for unit in Unit
        }
        times = Times.of(result)
        self.fetched, self.dispatched = times.at[EventKind.FETCH], times.at[EventKind.DISPATCH]
        self.started, self.ended = times.at[EventKind.START], times.at[EventKind.END]
        self.times = times
        self.loops = issue_times(self.config, slots_of(program, image), self.started)

    def check(self) -> None:
        """Check every rule; raises `AssertionError` at the first difference."""
        self.check_dispatch()
        for unit in Unit:
            self.check_starts(unit)
            self.check_states(unit)
        self.check_ends()
        self.check_done()

    def check_dispatch(self) -> None:
        """Rule 3: in order, one a cycle, when its queue held fewer than its depth."""
        units = {index: unit for unit, indices in self.by_unit.items() for index in indices}
        waiting: dict[Unit, list[int]] = {unit: [] for unit in Unit}
        last = -1
        for index in range(len(units)):
            unit = units[index]
            fetched = self.fetched[index]
            assert fetched > last, f"instruction {index} is fetched in {fetched}"
            cycle = fetched
            depth = self.config.instruction_queue
            while sum(self.started[other] >= cycle for other in waiting[unit]) >= depth:
                cycle += 1
            found = self.dispatched[index]
            assert found == cycle, f"instruction {index} is dispatched in {found}, not {cycle}"
            waiting[unit].append(index)
            last = found

    def check_starts(self, unit: Unit) -> None:
        """Rules 4 to 7: in the first cycle with its tokens in which the unit is ready."""
        previous = None
        for index in self.by_unit[unit]:
            cycle = max(self.dispatched[index] + 1, self._tokens_from(index))
            found = self.started[index]
            if previous is not None:
                if unit is Unit.STORE:
                    # Ready between the previous start and the previous end; at the latest then.
                    assert found > self.started[previous], f"STORE {index} starts in {found}"
                    latest = max(cycle, self.ended[previous] + 1)
                    assert cycle <= found <= latest, f"STORE {index} starts in {found}"
                    previous = index
                    continue
                cycle = max(cycle, self._ready_after(unit, previous, index))
            assert found == cycle, f"{unit.name} starts {index} in {found}, not {cycle}"
            previous = index

    def _ready_after(self, unit: Unit, previous: int, index: int) -> int:
        """The first cycle in which load or compute can start `index`."""
        if unit is Unit.COMPUTE and self._is_loop(previous) and self._is_loop(index):
            return self.loops.last_issue[previous]
        return self.ended[previous] + 1 - self._out_delay(previous)

    def _tokens_from(self, index: int) -> int:
        """The first cycle in which the tokens that an instruction pops are there."""
        first = 0
        for queue, pops in self.times.pops.items():
            position = next((at for at, (_, who) in enumerate(pops) if who == index), None)
            if position is not None:
                earlier = pops[position - 1][0] + 1 if position else 0
                first = max(first, earlier, self.times.pushes[queue][position] + 1)
        return first

    def check_ends(self) -> None:
        """Rules 5, 6 and 8."""
        stored = None
        for index, opcode in enumerate(self.opcodes):
            start, end = self.started[index], self.ended[index]
            if self._is_loop(index):
                wanted = self.loops.end[index]
                assert end == wanted, f"{opcode.name} {index} ends in {end}, not {wanted}"
            elif opcode is Opcode.STORE:
                # Orders end one a cycle, so that a burst's can end right after the one before it. A
                # burst is acknowledged after its data, which is offered in s + 4 at the earliest.
                empty = self.columns.x_size[index] == 0
                earliest = start + (2 if empty else 6)
                if stored is not None:
                    earliest = max(earliest, self.ended[stored] + 1)
                assert end == earliest if empty else end >= earliest, f"STORE {index} ends in {end}"
                stored = index
            elif opcode is Opcode.FINISH or self.columns.x_size[index] == 0:
                wanted = start + 1 + self._out_delay(index)
                assert end == wanted, f"{opcode.name} {index} ends in {end}"
            else:
                waits = self._waits_for_data(index)
                assert waits >= 0, f"LOAD {index} ends in {end}, {-waits} cycles too early"

    def _waits_for_data(self, index: int) -> int:
        """The cycles in which a LOAD neither starts nor writes, by rule 5: it has no data."""
        if self.opcodes[index] is not Opcode.LOAD or self.columns.x_size[index] == 0:
            return 0
        columns = self.columns
        size = self.config.element_bytes(MemoryId(int(columns.memory_type[index])))
        banks = max(1, size // self.config.bus_bytes)
        x, y = int(columns.x_size[index]), int(columns.y_size[index])
        width = x + int(columns.x_pad_0[index]) + int(columns.x_pad_1[index])
        height = y + int(columns.y_pad_0[index]) + int(columns.y_pad_1[index])
        writes = x * y * banks + width * height - x * y
        return self.ended[index] - self._out_delay(index) - self.started[index] - 1 - writes

    def check_states(self, unit: Unit) -> None:
        """Rule 10; of the store unit, busy and waiting for memory together."""
        assert self.result.units is not None
        found = self.result.units[unit]
        under_way, token, data, last = 0, 0, 0, -1
        for index in self.by_unit[unit]:
            start, end = self.started[index], self.ended[index]
            token += max(0, start - max(self.dispatched[index], last) - 1)
            under_way += max(0, end - max(start - 1, last))
            data += self._waits_for_data(index)
            last = max(last, end)
        assert found.token == token, f"{unit.name} waits {found.token} cycles for tokens: {token}"
        spent = found.busy + found.memory
        assert spent == under_way, f"{unit.name} works {spent} cycles, not {under_way}"
        if unit is not Unit.STORE:
            assert found.memory == data, f"{unit.name} waits {found.memory} cycles for data: {data}"

    def check_done(self) -> None:
        """Rule 9."""
        last = max(self.ended.values())
        assert self.result.cycles == last + 3, f"{self.result.cycles} cycles, last end {last}"

    def _out_delay(self, index: int) -> int:
        """The cycles from the last write of ACC to the end, of an instruction of compute."""
        return out_delay(self.config) if index in self.by_unit[Unit.COMPUTE] else 0

    def _is_loop(self, index: int) -> bool:
        return self.opcodes[index] in (Opcode.GEMM, Opcode.ALU, Opcode.REQUANTISE)
