"""The defaults of a launch, and the bits of channels."""

from __future__ import annotations

from tandem.hw.topology import BASE_REGISTERS
from tandem.sim.engine import Channel, Launch, Silence, Stalls


def test_channels_are_bits() -> None:
    assert [int(channel) for channel in Channel] == [1, 2, 4, 8, 16]
    names = [channel.name for channel in Channel]
    assert names == ["AR", "R", "AW", "W", "B"]


def test_a_launch_computes_checks_and_ends_when_the_program_does() -> None:
    how = Launch(address=16)
    assert how.bases == (0,) * BASE_REGISTERS
    assert (how.data, how.validate) == (True, True)
    assert how.events is False
    assert how.bus_timeout == 0
    assert how.bus_errors == ()
    options = how.max_cycles, how.waveform, how.stalls, how.silence, how.progress
    assert options == (None,) * 5


def test_memory_answers_after_a_silence_and_stalls_have_a_seed() -> None:
    assert Silence(Channel.R, 1, 2).lost is False
    assert Stalls(0.5).seed == 0
