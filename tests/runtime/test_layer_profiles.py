"""Cycles of layers by cause, against the events one by one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from hw.config_files import load_config
from hw.encoding import Opcode
from hw.isa import Program
from hw.topology import TokenQueue, Unit
from runtime.artifact.stream import StreamCode
from runtime.layer_profiles import Cause, profile_layers
from sim.cycle.engine import CycleEngine
from sim.events import EventKind
from sim.result import Result
from tests.support.launching import launch
from tests.support.programs import random_program

TINY = load_config("tiny")
LAYERS = 3


def plain_causes(layer_of: list[int], program: Program, result: Result) -> list[dict[Cause, int]]:
    """The cycles by cause, event by event in the order of time."""
    found = [dict.fromkeys(Cause, 0) for _ in range(LAYERS)]
    starts: dict[int, int] = {}
    waits: dict[int, Cause] = {}
    now = layer = 0
    for event in result.events:
        at, cycle = event.instruction, event.cycle
        assert cycle is not None
        if event.unit is not Unit.COMPUTE:
            continue
        if event.kind is EventKind.START:
            starts[at] = cycle
        if event.kind is EventKind.POP:
            loaded = event.queue is TokenQueue.LOAD_TO_COMPUTE
            waits[at] = Cause.WAIT_LOAD if loaded else waits.get(at, Cause.WAIT_STORE)
        if event.kind is EventKind.END:
            layer = layer_of[at] if layer_of[at] >= 0 else layer
            start = max(starts[at], now)
            found[layer][waits.get(at, Cause.OTHER)] += start - now
            found[layer][_busy(program, at)] += max(cycle, start) - start
            now = max(cycle, start)
    found[layer][Cause.OTHER] += (result.cycles or 0) - now
    return found


def _busy(program: Program, at: int) -> Cause:
    columns = program.columns()
    match columns.opcode[at]:
        case Opcode.GEMM:
            return Cause.RESET if columns.reset_reg[at] else Cause.GEMM
        case Opcode.ALU:
            return Cause.ALU
        case Opcode.LOAD:
            return Cause.LOAD
        case _:
            return Cause.OTHER


@pytest.mark.parametrize("seed", range(12))
def test_against_the_events_one_by_one(seed: int) -> None:
    drawn = random_program(TINY, seed, 40)
    result, _ = launch(CycleEngine(TINY), drawn.program, drawn.image, events=True)
    layer_of = np.random.default_rng(seed).integers(-1, LAYERS, len(drawn.program))
    layer_of.sort()
    if seed % 2:
        layer_of[::3] = -1
    layer = SimpleNamespace(macs=1)
    stream = cast("StreamCode", SimpleNamespace(layers=(layer,) * LAYERS, layer_of=layer_of))
    profiles = profile_layers(stream, drawn.program, result)
    causes = [dict(profile.causes) for profile in profiles]
    assert causes == plain_causes(layer_of.tolist(), drawn.program, result)
    assert sum(profile.cycles or 0 for profile in profiles) == result.cycles
