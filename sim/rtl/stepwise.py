"""Memory and driver, cycle by cycle, in Python: the twin of `bus.hpp` and `register_port.hpp`.

The model of time is the one that `hw.memory_model` states. In each cycle `drive` gives the design's
inputs from what was before, and `sample` takes the handshakes of that cycle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntFlag

from hw.memory_model import MemoryModel
from sim.engine import Bytes
from sim.rtl.bench import STALL_STEPS

__all__ = ["Channel", "Memory", "Pins", "ReadBus", "RegisterPort", "Stalling", "WriteBus"]

_OKAY, _SLAVE_ERROR, _DECODE_ERROR = 0, 2, 3
_INCREMENT = 1
_PAGE_BYTES = 4096
_WORD = (1 << 64) - 1
_ADDRESS = ("addr", "len", "size", "burst", "cache", "prot", "id")


class Channel(IntFlag):
    """Channels that can be held back in a cycle."""

    AR = 1
    R = 2
    AW = 4
    W = 8
    B = 16


@dataclass(frozen=True, slots=True)
class Pins:
    """The design's ports by name (`m_axi_araddr`): inputs are set, outputs are read."""

    get: Callable[[str], int]
    set: Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Stalling:
    """Which channels are held back, as a function of seed and cycle: the same as in `bus.hpp`."""

    threshold: int = 0
    seed: int = 0

    def held(self, cycle: int) -> int:
        """The channels of one cycle, as bits of `Channel`."""
        if not self.threshold:
            return 0
        bits = _mix(self.seed + (cycle + 1) * 0x9E3779B97F4A7C15 & _WORD)
        mask = 0
        for position, channel in enumerate(Channel):
            if bits >> 12 * position & STALL_STEPS - 1 < self.threshold:
                mask |= channel
        return mask


@dataclass(slots=True)
class Memory:
    """Bytes, and the ranges of them that answer with an error."""

    data: Bytes
    refused: tuple[tuple[int, int], ...]

    def response(self, address: int, count: int) -> int:
        """How memory answers an access."""
        if address + count > len(self.data):
            return _DECODE_ERROR
        if any(address < end and start < address + count for start, end in self.refused):
            return _SLAVE_ERROR
        return _OKAY


class _AddressRules:
    """The rules of one address channel; `prefix` is `ar` or `aw`."""

    def __init__(self, prefix: str, beat_bytes: int) -> None:
        self._prefix = prefix
        self._beat = beat_bytes
        self._before: tuple[int, ...] | None = None

    def check(self, pins: Pins, valid: int, ready: int) -> tuple[int, int, int, str | None]:
        """Aligned address, beats, ID, and the rule that is broken."""
        payload = tuple(pins.get(f"m_axi_{self._prefix}{name}") for name in _ADDRESS)
        address, length, size, burst, _, _, identity = payload
        name = self._prefix.upper()
        broken = None
        first = address & -self._beat
        if self._before is not None and (not valid or payload != self._before):
            broken = f"{name} changed or fell before {name}READY"
        # AXI also allows a burst that begins inside a beat. The design promises never to.
        elif valid and (burst != _INCREMENT or 1 << size != self._beat or address != first):
            broken = f"{name}: only INCR bursts of full beats are allowed"
        elif valid and first // _PAGE_BYTES != (first + length * self._beat) // _PAGE_BYTES:
            broken = f"{name} crosses a 4 KiB page"
        self._before = payload if valid and not ready else None
        return first, length + 1, identity, broken

    @property
    def waiting(self) -> bool:
        """An address was offered and not taken."""
        return self._before is not None


@dataclass(slots=True)
class _Read:
    address: int
    beats: int
    ready: int
    identity: int


class ReadBus:
    """The AR and R channels."""

    def __init__(self, model: MemoryModel, beat_bytes: int) -> None:
        self._model = model
        self._beat = beat_bytes
        self._bursts: deque[_Read] = deque()
        self._next_beat = 0
        self._offering = False
        self._rules = _AddressRules("ar", beat_bytes)

    def drive(self, pins: Pins, memory: Memory, now: int, held: int) -> None:
        """Give the inputs of cycle `now`."""
        free = len(self._bursts) < self._model.in_flight
        pins.set("m_axi_arready", free and not held & Channel.AR)
        if not self._offering and self._bursts and not held & Channel.R:
            if now >= max(self._bursts[0].ready, self._next_beat):
                self._offer(pins, memory, self._bursts[0])
        pins.set("m_axi_rvalid", self._offering)

    def _offer(self, pins: Pins, memory: Memory, burst: _Read) -> None:
        self._offering = True
        response = memory.response(burst.address, self._beat)
        data = memory.data[burst.address : burst.address + self._beat].tobytes()
        pins.set("m_axi_rdata", int.from_bytes(data, "little") if response == _OKAY else 0)
        pins.set("m_axi_rresp", response)
        pins.set("m_axi_rlast", burst.beats == 1)
        pins.set("m_axi_rid", burst.identity)

    def sample(self, pins: Pins, now: int) -> str | None:
        """Take the handshakes of cycle `now`; the rule that the design broke, if any."""
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
    response: int = _OKAY


class WriteBus:
    """The AW, W and B channels."""

    def __init__(self, model: MemoryModel, beat_bytes: int) -> None:
        self._model = model
        self._beat = beat_bytes
        self._bursts: deque[_Write] = deque()
        self._answers: deque[tuple[int, int, int]] = deque()
        self._next_beat = 0
        self._answering = False
        self._rules = _AddressRules("aw", beat_bytes)
        self._before: tuple[int, int, int] | None = None

    def drive(self, pins: Pins, now: int, held: int) -> None:
        """Give the inputs of cycle `now`."""
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

    def sample(self, pins: Pins, memory: Memory, now: int) -> str | None:
        """Take the handshakes of cycle `now`; the rule that the design broke, if any."""
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

    def _sample_data(self, pins: Pins, memory: Memory, now: int) -> str | None:
        valid = pins.get("m_axi_wvalid")
        if not valid and self._before is None:
            return None
        payload = tuple(pins.get(f"m_axi_w{name}") for name in ("data", "strb", "last"))
        data, strobes, last = payload
        broken = None
        if self._before is not None and (not valid or payload != self._before):
            broken = "W changed or fell before WREADY"
        taken = valid and pins.get("m_axi_wready")
        self._before = (data, strobes, last) if valid and not taken else None
        if not taken:
            return broken
        burst = self._bursts[0]
        if last != (burst.beats == 1):
            broken = broken or "WLAST is not on the last beat"
        response = memory.response(burst.address, self._beat)
        if response == _OKAY:
            for byte in range(self._beat):
                if strobes >> byte & 1:
                    memory.data[burst.address + byte] = data >> 8 * byte & 0xFF
        burst.response = max(burst.response, response)
        burst.address += self._beat
        burst.beats -= 1
        self._next_beat = now + self._model.interval
        if not burst.beats:
            self._answers.append((now + self._model.latency, burst.response, burst.identity))
            self._bursts.popleft()
        return broken


class _Step(Enum):
    DONE = 0
    WAITING = 1
    RAISED = 2


class RegisterPort:
    """A driver's side of the AXI4-Lite port: one access at a time, each channel on its own."""

    def __init__(self) -> None:
        self.value = 0
        self.response = 0
        self._write = False
        self._offset = 0
        self._address = self._data = self._answer = _Step.DONE

    @property
    def active(self) -> bool:
        """An access is under way."""
        return not self._address is self._data is self._answer is _Step.DONE

    def begin_write(self, offset: int, value: int) -> None:
        """Start to write a register."""
        self._write, self._offset, self.value = True, offset, value
        self._address = self._data = self._answer = _Step.WAITING

    def begin_read(self, offset: int) -> None:
        """Start to read a register; its content comes in `value`."""
        self._write, self._offset = False, offset
        self._address = self._answer = _Step.WAITING

    def drive(self, pins: Pins, held: int) -> None:
        """Give the inputs of this cycle. A channel once begun stays (AXI4, A3.2.1)."""
        self._address = _begun(self._address, held & (Channel.AW if self._write else Channel.AR))
        self._data = _begun(self._data, held & Channel.W)
        self._answer = _begun(self._answer, held & (Channel.B if self._write else Channel.R))
        address, answer = self._address is _Step.RAISED, self._answer is _Step.RAISED
        pins.set("s_axi_awvalid", self._write and address)
        pins.set("s_axi_arvalid", not self._write and address)
        pins.set("s_axi_wvalid", self._data is _Step.RAISED)
        pins.set("s_axi_bready", self._write and answer)
        pins.set("s_axi_rready", not self._write and answer)
        pins.set("s_axi_awaddr", self._offset)
        pins.set("s_axi_araddr", self._offset)
        pins.set("s_axi_wdata", self.value)
        pins.set("s_axi_wstrb", 0xF)

    def sample(self, pins: Pins) -> None:
        """Take the handshakes of this cycle."""
        if self._address is _Step.RAISED:
            if pins.get("s_axi_awready" if self._write else "s_axi_arready"):
                self._address = _Step.DONE
        if self._data is _Step.RAISED and pins.get("s_axi_wready"):
            self._data = _Step.DONE
        if self._answer is not _Step.RAISED:
            return
        if self._write and pins.get("s_axi_bvalid"):
            self._answer = _Step.DONE
            self.response = pins.get("s_axi_bresp")
        elif not self._write and pins.get("s_axi_rvalid"):
            self._answer = _Step.DONE
            self.response = pins.get("s_axi_rresp")
            self.value = pins.get("s_axi_rdata")


def _begun(step: _Step, held: int) -> _Step:
    return _Step.RAISED if step is _Step.WAITING and not held else step


def _mix(x: int) -> int:
    # The finalizer of SplitMix64.
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB & _WORD
    return x ^ x >> 31
