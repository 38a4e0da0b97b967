"""Two convolutions in one stream: the second one's input is what the first one computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest

from tandem.compiler.machines.accelerator.lower.dram_layout import Operator
from tandem.compiler.machines.accelerator.lower.stream import Stream, compile_stream
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.packing import (
    pack_data,
    pack_weight,
    packed_data_shape,
    unpack_data,
)
from tandem.compiler.machines.accelerator.templates.requantise_passes import alu_passes
from tandem.compiler.requantisation import RequantSpec
from tandem.compiler.te.knobs import Choice
from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Finish, Program
from tandem.hw.memory_model import parse_memory
from tandem.sim.engine import Launch
from tandem.sim.engines import make_engine
from tandem.sim.memory import place_program
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.random_workloads import convolve
from tests.support.compiler.machines.accelerator.templates.streams import Array, run_stream

TINY = machine("tiny")
PADDING = (1, 1, 0, 0)
SHAPE = (1, 8, 4, 4)
"""Of all tensors between layers: the windows are 2x2, with zeros above and on the left."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A convolution of 8 channels to 8, and what it computes from int8[N, C, H, W]."""

    operator: Operator
    values: Mapping[str, Array]
    weight: Array
    spec: RequantSpec

    @staticmethod
    def of(name: str, source: str, seed: int, choice: Choice, config: HardwareConfig) -> Layer:
        rng = np.random.default_rng(seed)
        channels = SHAPE[1]
        weight = rng.integers(-128, 128, (channels, channels, 2, 2), dtype=np.int8)
        spec = RequantSpec.pow2(9, rng.integers(-999, 999, channels).tolist(), -128, 127)
        passes, numbers = alu_passes(spec, channels, config)
        packed = pack_weight(weight, config)
        workload = Conv2dWorkload(
            packed_data_shape(SHAPE, config), packed.shape, (1, 1), PADDING, (1, 1), 1, passes
        )
        schedule = Conv2dOnArray().schedule(workload, choice, AcceleratorTarget.of(config))
        values = {"weight": packed, **numbers.tensors}
        called = {tensor: f"{name}.{tensor}" for tensor in values}
        tensors = {"data": source, "out": name, **called}
        operator = Operator(schedule.program, tensors, name, numbers.immediates)
        return Layer(
            operator, {called[each]: value for each, value in values.items()}, weight, spec
        )

    def reference(self, data: Array) -> Array:
        sums = convolve(data, self.weight, (1, 1), PADDING, (1, 1))
        return self.spec.reference(sums, axis=1).astype(np.int8)


def layers(choices: tuple[Choice, Choice]) -> tuple[Layer, Layer]:
    first, second = choices
    return (
        Layer.of("one", "image", 1, first, TINY),
        Layer.of("two", "one", 2, second, TINY),
    )


def stream_of(*parts: Layer) -> Stream:
    return compile_stream([each.operator for each in parts], AcceleratorTarget.of(TINY))


def cycles(stream: Stream, values: Mapping[str, Array], expected: Mapping[str, Array]) -> int:
    """Of a run on the RTL; every result is what it should be."""
    outputs, result = run_stream(stream, values, "rtl", "ddr")
    assert outputs.keys() == expected.keys()
    for name, wanted in expected.items():
        np.testing.assert_array_equal(unpack_data(outputs[name], SHAPE), wanted, name)
    assert result.cycles is not None
    return result.cycles


def launch_cycles() -> int:
    """Of a program that does nothing."""
    engine = make_engine("rtl", TINY, parse_memory("ddr"))
    try:
        program = Program.from_instructions(TINY, [Finish()])
        memory, address = place_program(bytes(1), program)
        result = engine.launch(program, memory, Launch(address=address))
    finally:
        engine.close()
    assert result.cycles is not None
    return result.cycles


def tiles(
    oc: int, y: int, x: int, ic: int, threads: int = 2, order: str = "outputs", along: str = "oc"
) -> Choice:
    return {"threads": threads, "ic": ic, "oc": oc, "x": x, "y": y, "order": order, "along": along}


CHOICES = {
    "two threads": (tiles(1, 2, 4, 1), tiles(1, 2, 4, 1)),
    "one thread": (tiles(1, 4, 4, 1, threads=1), tiles(2, 1, 4, 1, threads=1)),
    "different orders": (tiles(1, 2, 4, 1), tiles(1, 1, 2, 2, 2, "weights", "y")),
}


@pytest.mark.parametrize("choices", CHOICES.values(), ids=CHOICES.keys())
def test_joined_layers_take_fewer_cycles_than_two_runs(choices: tuple[Choice, Choice]) -> None:
    """By more than one launch: the second one's first loads come while the first one computes."""
    one, two = layers(choices)
    image = np.random.default_rng(3).integers(-128, 128, SHAPE, dtype=np.int8)
    middle = one.reference(image)
    end = two.reference(middle)
    given = {"image": pack_data(image, TINY)}
    between = {"one": pack_data(middle, TINY)}
    apart = (
        cycles(stream_of(one), {**given, **one.values}, {"one": middle}),
        cycles(stream_of(two), {**between, **two.values}, {"two": end}),
    )
    together = cycles(
        stream_of(one, two), {**given, **one.values, **two.values}, {"one": middle, "two": end}
    )
    assert max(apart) < together < sum(apart) - launch_cycles()


def test_weights_of_the_second_layer_wait_for_nothing() -> None:
    """They lie where the first one has nothing, at the other end of the memory."""
    stream = stream_of(*layers(CHOICES["different orders"]))
    stages = [stage for stage, _ in stream.sites]
    second = stream.operator_of.tolist().index(1)
    first = stages.index("out_weight", second)
    assert not stream.slots.pops(first)
