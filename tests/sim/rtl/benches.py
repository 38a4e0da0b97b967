"""Traffic on a bench, and its cycles by the memory model."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from tandem.hw.memory_model import MemoryModel
from tandem.sim.engine import Bytes, Stalls
from tandem.sim.rtl.bench import Bench, BenchSetup
from tests.support.sim.traffic import CHECKSUM, LAUNCH, STATUS, WORST, Handshake, Traffic

TIMEOUT_CYCLES = 100_000
_BEAT = 8


@dataclass(frozen=True, slots=True)
class TrafficResult:
    """Traffic results: cycles of each handshake, checksum of read data, worst response."""

    times: dict[Handshake, list[int]]
    checksum: int
    worst: int


def run_traffic(
    bench: Bench,
    traffic: Traffic,
    memory: Bytes,
    *,
    stalls: Stalls | None = None,
    refused: tuple[tuple[int, int], ...] = (),
) -> TrafficResult:
    """Run `traffic` to its end on the bench."""
    bench.attach(BenchSetup(memory, refused, stalls, events=True, waveform=None))
    try:
        for offset, value in traffic.settings().items():
            bench.write(offset, value)
        bench.write(LAUNCH, 1)
        assert bench.run(TIMEOUT_CYCLES)
        assert bench.read(STATUS) == 2
        checksum = bench.read(CHECKSUM) | bench.read(CHECKSUM + 8) << 32
        worst = bench.read(WORST)
        log = bench.events()
    finally:
        bench.detach()
    times: dict[Handshake, list[int]] = {
        handshake: log[log[:, 1] >> np.uint64(handshake) & np.uint64(1) == 1, 0].tolist()
        for handshake in Handshake
        if handshake is not Handshake.RUNNING
    }
    return TrafficResult(times, checksum, worst)


def random_memory(size: int, seed: int = 0) -> Bytes:
    """Random bytes."""
    return np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8)


def expected_times(model: MemoryModel, traffic: Traffic) -> dict[Handshake, list[int]]:
    """Cycles of each handshake by the rules of machine.md, computed burst by burst.

    The generator offers an address per cycle until all are accepted, and write data likewise.
    """
    return _reads(model, traffic) | _writes(model, traffic)


def _reads(model: MemoryModel, traffic: Traffic) -> dict[Handshake, list[int]]:
    addresses: list[int] = []
    beats: list[int] = []
    unanswered: deque[int] = deque()
    now = 0
    for _ in range(traffic.reads):
        now = _admitted(now, unanswered, model)
        addresses.append(now)
        first = now + model.latency
        if beats:
            first = max(first, beats[-1] + model.interval)
        beats += [first + model.interval * beat for beat in range(traffic.length)]
        unanswered.append(beats[-1])
        now += 1
    return {Handshake.AR: addresses, Handshake.R: beats}


def _writes(model: MemoryModel, traffic: Traffic) -> dict[Handshake, list[int]]:
    addresses: list[int] = []
    beats: list[int] = []
    answers: list[int] = []
    unanswered: deque[int] = deque()
    now = 0
    for _ in range(traffic.writes):
        now = _admitted(now, unanswered, model)
        addresses.append(now)
        for _ in range(traffic.length):
            earliest = beats[-1] + model.interval if beats else 0
            beats.append(max(now + 1, earliest))
        answers.append(beats[-1] + model.latency)
        unanswered.append(answers[-1])
        now += 1
    return {Handshake.AW: addresses, Handshake.W: beats, Handshake.B: answers}


def _admitted(now: int, unanswered: deque[int], model: MemoryModel) -> int:
    """The first cycle from `now` on in which another burst is accepted. A burst is outstanding up
    to its last beat or response.
    """
    while len(unanswered) >= model.in_flight:
        now = max(now, unanswered.popleft() + 1)
    return now
