"""The master of the register port, on a slave that accepts and answers when it likes."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tandem.sim.engine import Channel
from tandem.sim.rtl.bus import Pins
from tandem.sim.rtl.register_port import RegisterPort

CYCLES = 200
"""After so many cycles the slave has accepted everything."""
VALID = {"AW": "awvalid", "W": "wvalid", "AR": "arvalid"}
READY = {"AW": "awready", "W": "wready", "AR": "arready"}
ANSWER_VALID = {"B": "bvalid", "R": "rvalid"}
ANSWER_READY = {"B": "bready", "R": "rready"}
OF_WRITES, OF_READS = {"AW", "W", "B"}, {"AR", "R"}


@dataclass
class Slave:
    """An AXI4-Lite slave: an answer, with a response of its own, follows what it accepted.

    Attributes
    ----------
    pins
        The levels of all pins, without `s_axi_`.
    accepted
        Each handshake: the cycle, the channel, and what it carried.
    raised
        The first cycle in which the master raised VALID or READY of a channel.
    """

    random: Random
    patience: float
    pins: dict[str, int] = field(default_factory=dict)
    accepted: list[tuple[int, str, tuple[int, ...]]] = field(default_factory=list)
    raised: dict[str, int] = field(default_factory=dict)

    @property
    def port(self) -> Pins:
        """The pins as the master sees them."""
        return Pins(lambda name: self.pins[name.removeprefix("s_axi_")], self._set)

    def _set(self, name: str, value: int) -> None:
        self.pins[name.removeprefix("s_axi_")] = int(value)

    def drive(self, response: int, data: int) -> None:
        """Set this cycle's READY of requests, and offer an answer when all requests are in."""
        seen = {channel for _, channel, _ in self.accepted}
        for pin in READY.values():
            self.pins[pin] = int(self.random.random() < self.patience)
        for channel, needed in (("B", {"AW", "W"}), ("R", {"AR"})):
            pin = ANSWER_VALID[channel]
            offered = self.pins.get(pin, 0) or self.random.random() < self.patience
            self.pins[pin] = int(needed <= seen and channel not in seen and offered)
        # Of the channel without an answer the pins have something else.
        self.pins |= {"bresp": response, "rresp": response, "rdata": data}
        self.pins["rresp" if "AW" in seen or "W" in seen else "bresp"] = response ^ 3

    def sample(self, cycle: int) -> None:
        """Note this cycle's handshakes."""
        pins = self.pins
        for channel, pin in {**VALID, **ANSWER_READY}.items():
            if pins[pin]:
                self.raised.setdefault(channel, cycle)
        carried = {
            "AW": (pins["awaddr"],),
            "AR": (pins["araddr"],),
            "W": (pins["wdata"], pins["wstrb"]),
            "B": (pins["bresp"],),
            "R": (pins["rresp"], pins["rdata"]),
        }
        for valid, ready in ((VALID, READY), (ANSWER_VALID, ANSWER_READY)):
            for channel in valid:
                if pins[valid[channel]] and pins[ready[channel]]:
                    self.accepted.append((cycle, channel, carried[channel]))


def access(
    port: RegisterPort, slave: Slave, held: list[int], response: int, data: int
) -> dict[str, tuple[int, ...]]:
    """Run the access that was begun to its end; what each channel carried.

    The channels of `held` stall, cycle by cycle; afterwards none does.
    """
    slave.accepted, slave.raised = [], {}
    before: dict[str, int] = {}
    for cycle in range(CYCLES):
        if not port.active:
            break
        slave.drive(response, data)
        port.drive(slave.port, held[cycle] if cycle < len(held) else 0)
        for channel, pin in {**VALID, **ANSWER_READY}.items():
            done = channel in {each for _, each, _ in slave.accepted}
            waits = channel in slave.raised and not done
            assert slave.pins[pin] or not waits, f"{pin} fell before its handshake"
            assert not (slave.pins[pin] and done), f"{pin} stays after its handshake"
        slave.sample(cycle)
        port.sample(slave.port)
        before = dict(slave.raised)
    assert not port.active, "the access never ends"
    channels = [channel for _, channel, _ in slave.accepted]
    assert len(channels) == len({*channels}), "a handshake twice"
    for channel, cycle in before.items():
        first = next(
            at for at in range(CYCLES) if at >= len(held) or not held[at] & Channel[channel]
        )
        assert cycle == first, f"{channel} rises when it is not held, and not before"
    return {channel: carried for _, channel, carried in slave.accepted}


words = st.integers(0, 2**32 - 1)


@given(
    st.lists(
        st.tuples(
            st.booleans(),
            words,
            words,
            st.integers(0, 3),
            st.lists(st.integers(0, 31), max_size=8),
        ),
        min_size=1,
        max_size=6,
    ),
    st.integers(0, 2**16),
    st.sampled_from([0.2, 0.6, 1.0]),
)
def test_every_access_is_one_handshake_a_channel(
    accesses: list[tuple[bool, int, int, int, list[int]]], seed: int, patience: float
) -> None:
    """Reads and writes one after the other: the right channels, once each, with what was asked."""
    slave, port = Slave(Random(f"slave {seed}"), patience), RegisterPort()
    assert not port.active
    for writes, offset, value, response, held in accesses:
        if writes:
            port.begin_write(offset, value)
        else:
            port.begin_read(offset)
        assert port.active
        carried = access(port, slave, held, response, value ^ 0xFFFF)
        assert port.response == response
        if writes:
            assert carried == {"AW": (offset,), "W": (value, 0xF), "B": (response,)}
            assert port.value == value
        else:
            assert carried == {"AR": (offset,), "R": (response, value ^ 0xFFFF)}
            assert port.value == value ^ 0xFFFF
        assert {*carried} == (OF_WRITES if writes else OF_READS)


def test_at_rest_nothing_is_raised() -> None:
    slave, port = Slave(Random(0), 1.0), RegisterPort()
    port.drive(slave.port, 0)
    assert not any(slave.pins[pin] for pin in (*VALID.values(), *ANSWER_READY.values()))
