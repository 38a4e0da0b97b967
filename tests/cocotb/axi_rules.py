"""Watches both buses for breaches of AXI4, and for breaches of what the machine promises.

Independent on purpose of the checks in `sim/rtl/bus.hpp` and `sim.rtl.bus`: it watches the Verilog
in other simulators, among bus models that others wrote.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from cocotb.handle import HierarchyObject, LogicObject, ValueObjectBase
from cocotb.triggers import RisingEdge

from tandem.hw.config import PAGE_BYTES, HardwareConfig

INCR = 1
Wire: TypeAlias = ValueObjectBase[Any, Any]
"""Simulators and cocotb disagree about the type of a vector."""


def wire(dut: HierarchyObject, name: str) -> Wire:
    """One port of the design."""
    found = dut[name]
    assert isinstance(found, ValueObjectBase), f"{name} is a {type(found).__name__}"
    return found


def pin(dut: HierarchyObject, name: str) -> LogicObject:
    """One port of a single bit."""
    found = dut[name]
    assert isinstance(found, LogicObject), f"{name} is a {type(found).__name__}"
    return found


@dataclass
class _Channel:
    """One channel that the machine drives: what is offered stays until it is taken.

    Attributes
    ----------
    offered
        The payload that was offered for the first time at the last edge.
    taken
        The payload that changed hands at the last edge.
    waits
        Edges at which something was offered and not taken, so far.
    """

    name: str
    valid: Wire
    ready: Wire
    payload: tuple[Wire, ...]
    offered: tuple[int, ...] | None = field(default=None, init=False)
    taken: tuple[int, ...] | None = field(default=None, init=False)
    waiting: tuple[int, ...] | None = field(default=None, init=False)
    waits: int = field(default=0, init=False)

    def sample(self) -> None:
        """Look at one edge."""
        self.offered = self.taken = None
        if not int(self.valid.value):
            assert self.waiting is None, f"{self.name}: VALID fell before READY rose"
            return
        now = tuple(int(part.value) for part in self.payload)
        if self.waiting is None:
            self.offered = now
        else:
            assert now == self.waiting, f"{self.name}: changed while it waited"
        if int(self.ready.value):
            self.taken, self.waiting = now, None
        else:
            self.waiting = now
            self.waits += 1

    def reset(self) -> None:
        """Nothing may be offered."""
        assert not int(self.valid.value), f"{self.name}: VALID in reset"
        self.offered = self.taken = self.waiting = None


class AxiRules:
    """Looks at every rising edge, from `watch` on; a broken rule fails the bench.

    Attributes
    ----------
    reads, writes
        Bursts so far.
    gives_up
        Whether bursts may be given up: only then beats may be without any byte.
    """

    def __init__(self, dut: HierarchyObject, config: HardwareConfig) -> None:
        def channel(bus: str, letters: str, *payload: str) -> _Channel:
            prefix = f"{bus}_axi_{letters}"
            return _Channel(
                prefix,
                wire(dut, f"{prefix}valid"),
                wire(dut, f"{prefix}ready"),
                tuple(wire(dut, prefix + part) for part in payload),
            )

        burst = ("addr", "len", "size", "burst", "cache", "prot", "id")
        self._config = config
        self._dut = dut
        self._ar = channel("m", "ar", *burst)
        self._aw = channel("m", "aw", *burst)
        self._w = channel("m", "w", "last", "strb", "data")
        self._slave = (channel("s", "r", "data", "resp"), channel("s", "b", "resp"))
        self._r = (wire(dut, "m_axi_rvalid"), wire(dut, "m_axi_rready"))
        self._b = (wire(dut, "m_axi_bvalid"), wire(dut, "m_axi_bready"))
        self._to_read: deque[int] = deque()
        self._to_write: deque[int] = deque()
        self._unanswered = 0
        self.reads = 0
        self.writes = 0
        self.gives_up = False

    @property
    def waits(self) -> dict[str, int]:
        """For each channel that the machine drives: edges at which it had to wait."""
        channels = (self._ar, self._aw, self._w, *self._slave)
        return {channel.name: channel.waits for channel in channels}

    @property
    def quiet(self) -> bool:
        """Whether no transfer is outstanding on the memory bus."""
        waiting = (self._ar.waiting, self._aw.waiting, self._w.waiting)
        owed = self._to_read or self._to_write or self._unanswered
        return not owed and all(one is None for one in waiting)

    @property
    def written(self) -> bool:
        """Whether no write burst waits for memory to take its address or its data."""
        waiting = (self._aw.waiting, self._w.waiting)
        return not self._to_write and all(one is None for one in waiting)

    async def watch(self) -> None:
        """For ever; in reset nothing may be offered after the first edge."""
        clock, reset = pin(self._dut, "aclk"), pin(self._dut, "aresetn")
        edges_in_reset = 0
        while True:
            await RisingEdge(clock)
            if int(reset.value):
                edges_in_reset = 0
                self._edge()
                continue
            edges_in_reset += 1
            if edges_in_reset > 1:
                self._reset()

    def _reset(self) -> None:
        for channel in (self._ar, self._aw, self._w, *self._slave):
            channel.reset()
        self._to_read.clear()
        self._to_write.clear()
        self._unanswered = 0

    def _edge(self) -> None:
        for channel in (self._ar, self._aw, self._w, *self._slave):
            channel.sample()
        self._write_edge()
        self._read_edge()

    def _read_edge(self) -> None:
        config = self._config
        valid, ready = self._r
        if int(valid.value):
            assert int(ready.value), "the machine makes read data wait"
            assert self._to_read, "memory sends a beat that was not requested"
            self._to_read[0] -= 1
            if not self._to_read[0]:
                self._to_read.popleft()
        if self._ar.offered is not None:
            self._check(self._ar.offered)
        if self._ar.taken is not None:
            self._to_read.append(_beats(self._ar.taken))
            self.reads += 1
            assert len(self._to_read) <= config.reads_in_flight

    def _write_edge(self) -> None:
        config = self._config
        valid, ready = self._b
        if int(valid.value) and int(ready.value):
            assert self._unanswered, "memory acknowledges a burst that was not written"
            self._unanswered -= 1
        if self._aw.offered is not None:
            self._check(self._aw.offered)
            # Data may come before the address is taken.
            self._to_write.append(_beats(self._aw.offered))
        if self._w.offered is not None:
            assert self._to_write, "write data without an address"
            last, strobe, _ = self._w.offered
            assert last == (self._to_write[0] == 1), "WLAST on another beat than the last"
            assert strobe or self.gives_up, "a write beat without any byte"
        if self._w.taken is not None:
            self._to_write[0] -= 1
            if not self._to_write[0]:
                self._to_write.popleft()
        if self._aw.taken is not None:
            self._unanswered += 1
            self.writes += 1
            assert self._unanswered <= config.writes_in_flight

    def _check(self, burst: tuple[int, ...]) -> None:
        config = self._config
        address, _, size, kind, cache, prot, _ = burst
        assert kind == INCR
        assert (cache, prot) == (config.axi_cache, config.axi_prot)
        assert 1 << size == config.bus_bytes
        beats = _beats(burst)
        longest = config.longest_burst
        assert beats <= longest, f"a burst of {beats} beats: {longest} are allowed"
        first = address // config.bus_bytes
        last = first + beats - 1
        pages = {beat * config.bus_bytes // PAGE_BYTES for beat in (first, last)}
        assert len(pages) == 1, f"{beats} beats from {address:#x} on cross a page"


def _beats(burst: tuple[int, ...]) -> int:
    return burst[1] + 1
