"""A cycle-accurate model of the memory on the AXI4 master, in Python: the counterpart of `bus.hpp`.

In each cycle `drive` sets the design's inputs from the state before the cycle, and `sample`
processes the cycle's handshakes; timing follows `hw.memory_model.MemoryModel`. The C++
implementation is for speed, the Python one for Amaranth's simulator, which needs no compiler. Both
share the constants and the wording of rules (`sim.rtl.constants`), and
`tests/sim/rtl/test_bus.py` compares both in every cycle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from tandem.hw.axi import INCR, Response
from tandem.hw.config import PAGE_BYTES
from tandem.hw.memory_model import MemoryModel
from tandem.sim.engine import Bytes, Channel, Silence
from tandem.sim.rtl.constants import (
    MIX_MULTIPLIERS,
    STALL_BITS,
    STALL_STEPS,
    STREAM_INCREMENT,
    Rule,
)

_WORD = (1 << 64) - 1
_ADDRESS = ("addr", "len", "size", "burst", "cache", "prot", "id")


@dataclass(frozen=True, slots=True)
class Pins:
    """The design's ports by name (`m_axi_araddr`): inputs are set, outputs are read."""

    get: Callable[[str], int]
    set: Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class StallGenerator:
    """Random stalls of channels, as a function of seed and cycle: the same as in `bus.hpp`."""

    threshold: int = 0
    seed: int = 0

    def held(self, cycle: int) -> int:
        """The channels that stall in a cycle, as bits of `Channel`."""
        if not self.threshold:
            return 0
        bits = _mix(self.seed + (cycle + 1) * STREAM_INCREMENT & _WORD)
        mask = 0
        for position, channel in enumerate(Channel):
            if bits >> STALL_BITS * position & STALL_STEPS - 1 < self.threshold:
                mask |= channel
        return mask


def silent(silence: Silence | None, cycle: int) -> int:
    """The channels on which nothing happens in a cycle of a run, as bits of `Channel`."""
    if silence is None or not 0 <= cycle - silence.begin < silence.cycles:
        return 0
    return silence.channels


@dataclass(slots=True)
class Memory:
    """Bytes of physical memory, and the address ranges that answer with an error."""

    data: Bytes
    refused: tuple[tuple[int, int], ...]

    def response(self, address: int, count: int) -> Response:
        """RRESP or BRESP of an access to `count` bytes."""
        if address + count > len(self.data):
            return Response.DECERR
        if any(address < end and start < address + count for start, end in self.refused):
            return Response.SLVERR
        return Response.OKAY


class _AddressRules:
    """The rules of one address channel."""

    def __init__(self, channel: Channel, beat_bytes: int) -> None:
        name = str(channel.name)
        self._prefix = f"m_axi_{name.lower()}"
        self._stable = Rule[f"{name}_STABLE"]
        self._shape = Rule[f"{name}_SHAPE"]
        self._page = Rule[f"{name}_PAGE"]
        self._beat = beat_bytes
        self._before: tuple[int, ...] | None = None

    def check(self, pins: Pins, valid: int, ready: int) -> tuple[int, int, int, Rule | None]:
        """Check one cycle; returns aligned address, beats, ID, and the broken rule or None."""
        payload = tuple(pins.get(self._prefix + name) for name in _ADDRESS)
        address, length, size, burst, _, _, identity = payload
        broken = None
        first = address & -self._beat
        if self._before is not None and (not valid or payload != self._before):
            broken = self._stable
        # AXI also allows unaligned bursts; the design must not issue any.
        elif valid and (burst != INCR or 1 << size != self._beat or address != first):
            broken = self._shape
        elif valid and first // PAGE_BYTES != (first + length * self._beat) // PAGE_BYTES:
            broken = self._page
        self._before = payload if valid and not ready else None
        return first, length + 1, identity, broken

    @property
    def waiting(self) -> bool:
        """Whether VALID was high without READY in the last cycle."""
        return self._before is not None


@dataclass(slots=True)
class _Read:
    address: int
    beats: int
    ready: int
    identity: int


class ReadBus:
    """The memory's side of the AR and R channels."""

    def __init__(self, model: MemoryModel, beat_bytes: int) -> None:
        self._model = model
        self._beat = beat_bytes
        self._bursts: deque[_Read] = deque()
        self._next_beat = 0
        self._offering = False
        self._rules = _AddressRules(Channel.AR, beat_bytes)

    def begin_launch(self) -> None:
        """The next beat need not keep its distance from a beat of an earlier launch."""
        self._next_beat = 0

    def drive(self, pins: Pins, memory: Memory, now: int, held: int) -> None:
        """Set the design's inputs of cycle `now`."""
        free = len(self._bursts) < self._model.in_flight
        pins.set("m_axi_arready", free and not held & Channel.AR)
        if not self._offering and self._bursts and not held & Channel.R:
            if now >= max(self._bursts[0].ready, self._next_beat):
                self._offer(pins, memory, self._bursts[0])
        pins.set("m_axi_rvalid", self._offering)

    def forget(self) -> None:
        """Answer nothing of what was accepted until now."""
        self._bursts.clear()
        self._offering = False

    def _offer(self, pins: Pins, memory: Memory, burst: _Read) -> None:
        self._offering = True
        response = memory.response(burst.address, self._beat)
        data = memory.data[burst.address : burst.address + self._beat].tobytes()
        pins.set("m_axi_rdata", int.from_bytes(data, "little") if response == Response.OKAY else 0)
        pins.set("m_axi_rresp", response)
        pins.set("m_axi_rlast", burst.beats == 1)
        pins.set("m_axi_rid", burst.identity)

    def sample(self, pins: Pins, now: int) -> Rule | None:
        """Process the handshakes of cycle `now`; returns the rule that was broken, or None."""
        if self._offering and pins.get("m_axi_rready"):
            self._offering = False
            self._next_beat = now + self._model.interval
            burst = self._bursts[0]
            burst.address += self._beat
            burst.beats -= 1
            if not burst.beats:
                self._bursts.popleft()
        valid = pins.get("m_axi_arvalid")
        if not valid and not self._rules.waiting:
            return None
        ready = pins.get("m_axi_arready")
        address, beats, identity, broken = self._rules.check(pins, valid, ready)
        if valid and ready:
            self._bursts.append(_Read(address, beats, now + self._model.latency, identity))
        return broken


@dataclass(slots=True)
class _Write:
    address: int
    beats: int
    identity: int
    response: Response = Response.OKAY
    lost: bool = False


class WriteBus:
    """The memory's side of the AW, W and B channels."""

    def __init__(self, model: MemoryModel, beat_bytes: int) -> None:
        self._model = model
        self._beat = beat_bytes
        self._bursts: deque[_Write] = deque()
        self._answers: deque[tuple[int, Response, int]] = deque()
        self._next_beat = 0
        self._answering = False
        self._rules = _AddressRules(Channel.AW, beat_bytes)
        self._before: tuple[int, int, int] | None = None

    def begin_launch(self) -> None:
        """See `ReadBus`."""
        self._next_beat = 0

    def forget(self) -> None:
        """Acknowledge nothing of what was accepted until now."""
        self._answers.clear()
        self._answering = False
        for burst in self._bursts:
            burst.lost = True

    def drive(self, pins: Pins, now: int, held: int) -> None:
        """Set the design's inputs of cycle `now`."""
        free = len(self._bursts) + len(self._answers) < self._model.in_flight
        pins.set("m_axi_awready", free and not held & Channel.AW)
        taking = bool(self._bursts) and now >= self._next_beat
        pins.set("m_axi_wready", taking and not held & Channel.W)
        if not self._answering and self._answers and not held & Channel.B:
            ready, response, identity = self._answers[0]
            if now >= ready:
                self._answering = True
                pins.set("m_axi_bresp", response)
                pins.set("m_axi_bid", identity)
        pins.set("m_axi_bvalid", self._answering)

    def sample(self, pins: Pins, memory: Memory, now: int) -> Rule | None:
        """Process the handshakes of cycle `now`; returns the rule that was broken, or None."""
        if self._answering and pins.get("m_axi_bready"):
            self._answering = False
            self._answers.popleft()
        broken = self._sample_data(pins, memory, now)
        valid = pins.get("m_axi_awvalid")
        if not valid and not self._rules.waiting:
            return broken
        ready = pins.get("m_axi_awready")
        address, beats, identity, address_broken = self._rules.check(pins, valid, ready)
        if valid and ready:
            self._bursts.append(_Write(address, beats, identity))
        return broken or address_broken

    def _sample_data(self, pins: Pins, memory: Memory, now: int) -> Rule | None:
        valid = pins.get("m_axi_wvalid")
        if not valid and self._before is None:
            return None
        payload = tuple(pins.get(f"m_axi_w{name}") for name in ("data", "strb", "last"))
        data, strobes, last = payload
        broken = None
        if self._before is not None and (not valid or payload != self._before):
            broken = Rule.W_STABLE
        taken = valid and pins.get("m_axi_wready")
        self._before = (data, strobes, last) if valid and not taken else None
        if not taken:
            return broken
        burst = self._bursts[0]
        if last != (burst.beats == 1):
            broken = broken or Rule.W_LAST
        response = memory.response(burst.address, self._beat)
        if response == Response.OKAY:
            for byte in range(self._beat):
                if strobes >> byte & 1:
                    memory.data[burst.address + byte] = data >> 8 * byte & 0xFF
        burst.response = max(burst.response, response)
        burst.address += self._beat
        burst.beats -= 1
        self._next_beat = now + self._model.interval
        if not burst.beats:
            if not burst.lost:
                self._answers.append((now + self._model.latency, burst.response, burst.identity))
            self._bursts.popleft()
        return broken


def _mix(x: int) -> int:
    """The finaliser of SplitMix64."""
    first, second = MIX_MULTIPLIERS
    x = (x ^ x >> 30) * first & _WORD
    x = (x ^ x >> 27) * second & _WORD
    return x ^ x >> 31
