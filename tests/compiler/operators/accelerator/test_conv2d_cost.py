"""The estimate of cycles against the Verilog's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.operators.accelerator.conv2d_cost import ConvShape, estimate
from compiler.templates.accelerator.machine_cost import MachineCost, MemoryTiming
from hw.config import HardwareConfig
from scripts.utilization.build import HIDING, Convolution
from scripts.utilization.case import make_case
from scripts.utilization.layers import parse_layer
from sim.engine import Launch
from sim.engines import make_engine
from sim.memory import place
from sim.timing import parse_memory

PYNQ = HardwareConfig()
LAYERS = ("C10", "C4", "odd=9,11,40,50,3,1,1")


@pytest.mark.parametrize("memory", ["fast", "edge"])
@pytest.mark.parametrize("threads", [1, HIDING])
@pytest.mark.parametrize("layer", LAYERS)
def test_within_a_tenth(layer: str, threads: int, memory: str) -> None:
    """Much less off on larger layers; what is compared with is not the choice of tiles but time."""
    model = parse_memory(memory)
    timing = MemoryTiming(model.latency, model.interval)
    conv = Convolution.of(make_case(parse_layer(layer), 0), PYNQ, timing)
    built = conv.build(threads)
    tiling = replace(conv.tiling, threads=threads)
    guess = estimate(ConvShape.of(conv.conv), tiling, MachineCost(PYNQ, timing))
    dram, address = place(built.image(), built.stream.program, None)
    engine = make_engine("rtl", PYNQ, model)
    try:
        cycles = engine.launch(built.stream.program, dram, Launch(address=address)).cycles
    finally:
        engine.close()
    assert cycles is not None
    assert guess == pytest.approx(cycles, rel=0.1)


def test_more_work_takes_longer() -> None:
    conv = Convolution.of(make_case(parse_layer("C10"), 0), PYNQ, MemoryTiming())
    shape, cost = ConvShape.of(conv.conv), MachineCost(PYNQ)
    once = estimate(shape, conv.tiling, cost)
    assert estimate(replace(shape, batches=2), conv.tiling, cost) > 1.8 * once
    assert estimate(replace(shape, number_passes=9), conv.tiling, cost) > once
    assert estimate(shape, conv.tiling, MachineCost(PYNQ, MemoryTiming(100, 4))) > once
