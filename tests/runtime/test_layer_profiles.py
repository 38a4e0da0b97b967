"""Bytes and instructions of layers against loops over the instructions of random programs."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.codings import Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Finish, Instruction, Load, Program, Store
from tandem.hw.topology import MemoryId
from tandem.runtime.artifact import Layer, StreamCode
from tandem.runtime.layer_profiles import LayerProfile, StreamRun, profile_layers
from tandem.sim.result import Result
from tandem.sim.why.causes import Cause
from tests.support.hw.strategies import configs, instructions

LAYERS = 3


def functional() -> Result:
    """Of an engine without time."""
    return Result("functional", None, None, cast(Any, None), cast(Any, ()), 0.5)


def stream(config: HardwareConfig, program: Program, layer_of: list[int]) -> StreamCode:
    layers = tuple(Layer(f"l{number}", ("conv2d",), 10 + number, 5) for number in range(LAYERS))
    return StreamCode(
        *("s", config, program.data, np.zeros(16, np.uint8), (), (), layers),
        np.array(layer_of, np.int32),
        ("",) * len(layer_of),
    )


def moved(config: HardwareConfig, instruction: Load | Store) -> int:
    """Bytes; none where the machine lacks the memory."""
    memory = instruction.memory
    coding = instruction.coding if isinstance(instruction, Load) else Coding.BITS_1
    size = config.element_bytes(memory, coding) if memory in config.memories else 0
    return instruction.y_size * instruction.x_size * size


@given(data=st.data())
def test_bytes_and_instructions(data: st.DataObject) -> None:
    config = data.draw(configs())
    drawn: list[Instruction] = data.draw(st.lists(instructions(config), min_size=1, max_size=12))
    count = len(drawn)
    layer_of = data.draw(
        st.lists(st.integers(-1, LAYERS - 1), min_size=count, max_size=count), label="layers"
    )
    program = Program.from_instructions(config, drawn)
    found = profile_layers(stream(config, program, layer_of), program, functional())
    assert len(found) == LAYERS
    for number, profile in enumerate(found):
        own = [each for each, layer in zip(drawn, layer_of, strict=True) if layer == number]
        loads = [each for each in own if isinstance(each, Load)]
        weights = [each for each in loads if each.memory in (MemoryId.WGT, MemoryId.WGT_CODES)]
        assert profile.layer.name == f"l{number}"
        assert profile.instructions == len(own)
        assert profile.loaded == sum(moved(config, each) for each in loads)
        assert profile.weights == sum(moved(config, each) for each in weights)
        assert profile.stored == sum(moved(config, each) for each in own if isinstance(each, Store))
        assert profile.multipliers == config.macs
        assert profile.cycles is profile.utilization is None
        assert profile.causes == {}


def profile(cycles: int | None, macs: int = 60) -> LayerProfile:
    causes = {} if cycles is None else {Cause.GEMM: cycles - 1, Cause.LOAD: 1}
    return LayerProfile(Layer("a", ("conv2d",), macs, 7), cycles, causes, 100, 20, 3, 16, 40)


def test_the_share_of_the_multipliers_that_is_used() -> None:
    assert profile(10).utilization == 60 / (10 * 16)
    assert profile(10, macs=0).utilization is None
    assert profile(0).utilization is None
    assert profile(None).utilization is None


def test_two_runs_are_summed() -> None:
    both = profile(10).with_later(profile(30, macs=4))
    assert both == LayerProfile(
        Layer("a", ("conv2d",), 64, 14),
        40,
        {Cause.GEMM: 38, Cause.LOAD: 2},
        *(200, 40, 6, 16, 80),
    )
    assert profile(None).with_later(profile(None)).cycles is None


def test_runs_of_a_stream() -> None:
    config = HardwareConfig()
    program = Program.from_instructions(config, [Finish()])
    code = stream(config, program, [-1])

    def run(cycles: int | None, seconds: float) -> StreamRun:
        result = Result("cycle", cycles, None, cast(Any, None), cast(Any, ()), seconds)
        return StreamRun(code, program, 4096, result, (profile(cycles),))

    both = run(10, 0.5).with_later(run(30, 2.0))
    assert (both.cycles, both.result.seconds, both.address) == (40, 2.5, 4096)
    assert [each.cycles for each in both.layers] == [40]
    assert run(None, 0.5).with_later(run(None, 1.0)).cycles is None
