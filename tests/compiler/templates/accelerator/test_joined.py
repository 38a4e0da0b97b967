"""Two convolutions in one stream: the second one's input is what the first one computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest

from compiler.ir.dtypes import INT8
from compiler.lower.accelerator.stream import Operator, Stream, compile_stream
from compiler.operators.accelerator.conv2d import packed_conv2d
from compiler.operators.accelerator.conv2d_schedule import conv2d_schedule
from compiler.operators.accelerator.packing import pack_data, pack_weight, unpack_data
from compiler.operators.accelerator.requantise import requantise
from compiler.operators.accelerator.tiling import Order, Tiling
from compiler.requantisation import RequantSpec
from compiler.target import AcceleratorTarget
from compiler.te import placeholder
from hw.config import HardwareConfig
from hw.isa import Finish, Program
from sim.engine import Launch
from sim.engines import make_engine
from sim.memory import place
from sim.timing import parse_memory
from tests.support.accelerator_operators import machine
from tests.support.random_convolutions import convolve
from tests.support.streams import Array, run_stream

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
    def of(name: str, source: str, seed: int, tiling: Tiling, config: HardwareConfig) -> Layer:
        rng = np.random.default_rng(seed)
        channels = SHAPE[1]
        weight = rng.integers(-128, 128, (channels, channels, 2, 2), dtype=np.int8)
        spec = RequantSpec.pow2(9, rng.integers(-999, 999, channels).tolist(), -128, 127)
        after = requantise(spec, channels, config, f"{name}_operand")
        packed = pack_weight(weight, config)
        data = pack_data(np.zeros(SHAPE, np.int8), config)
        conv = packed_conv2d(
            placeholder(data.shape, INT8, "data"),
            placeholder(packed.shape, INT8, f"{name}_weight_in"),
            after.passes,
            padding=PADDING,
            name=name,
        )
        schedule = conv2d_schedule(conv, tiling, AcceleratorTarget.of(config))
        values = {f"{name}_weight_in": packed, **after.values}
        return Layer(Operator(schedule.program, {"data": source}), values, weight, spec)

    def reference(self, data: Array) -> Array:
        sums = convolve(data, self.weight, (1, 1), PADDING, (1, 1))
        return self.spec.reference(sums, axis=1).astype(np.int8)


def layers(tilings: tuple[Tiling, Tiling]) -> tuple[Layer, Layer]:
    first, second = tilings
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
        memory, address = place(bytes(1), program)
        result = engine.launch(program, memory, Launch(address=address))
    finally:
        engine.close()
    assert result.cycles is not None
    return result.cycles


TILINGS = {
    "two threads": (Tiling(1, 2, 4, 1), Tiling(1, 2, 4, 1)),
    "one thread": (Tiling(1, 4, 4, 1, threads=1), Tiling(2, 1, 4, 1, threads=1)),
    "different orders": (
        Tiling(1, 2, 4, 1, Order.OUTPUTS, 2, "oc"),
        Tiling(1, 1, 2, 2, Order.WEIGHTS, 2, "y"),
    ),
}


@pytest.mark.parametrize("tilings", TILINGS.values(), ids=TILINGS.keys())
def test_joined_layers_take_fewer_cycles_than_two_runs(tilings: tuple[Tiling, Tiling]) -> None:
    """By more than one launch: the second one's first loads come while the first one computes."""
    one, two = layers(tilings)
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
    stream = stream_of(*layers(TILINGS["different orders"]))
    first = next(
        place
        for place, origin in enumerate(stream.origins)
        if origin is not None and origin.stage == "two_weight"
    )
    assert not stream.slots.pops(first)
