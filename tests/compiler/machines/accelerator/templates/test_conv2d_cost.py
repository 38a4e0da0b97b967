"""The estimate of cycles against the Verilog's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.epilogue import AluPass
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost, MemoryTiming
from tandem.compiler.plan.space import Choices
from tandem.compiler.te.knobs import Choice
from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import parse_memory
from tandem.hw.operations import AluOp
from tandem.sim.engine import Launch
from tandem.sim.engines import make_engine
from tandem.sim.memory import place_program
from tandem.workbench.utilization.build import HIDING, Convolution
from tandem.workbench.utilization.case import make_case
from tandem.workbench.utilization.conv_layers import parse_layer

PYNQ = HardwareConfig()
LAYERS = ("C10", "C4", "odd=9,11,40,50,3,1,1")


def estimate(workload: Conv2dWorkload, choice: Choice, cost: MachineCost) -> float:
    return float(Conv2dOnArray().estimate(workload, Choices.of([choice]), cost).item())


@pytest.mark.parametrize("memory", ["fast", "edge"])
@pytest.mark.parametrize("threads", [1, HIDING])
@pytest.mark.parametrize("layer", LAYERS)
def test_within_a_tenth(layer: str, threads: int, memory: str) -> None:
    """Much less off on larger layers; what is compared with is not the choice of tiles but time."""
    model = parse_memory(memory)
    timing = MemoryTiming(model.latency, model.interval)
    conv = Convolution.of(make_case(parse_layer(layer), 0), PYNQ, timing)
    built = conv.build(threads)
    choice = {**conv.choice, "threads": threads}
    guess = estimate(conv.workload, choice, MachineCost(PYNQ, timing))
    dram, address = place_program(built.image(), built.stream.program, None)
    engine = make_engine("rtl", PYNQ, model)
    try:
        cycles = engine.launch(built.stream.program, dram, Launch(address=address)).cycles
    finally:
        engine.close()
    assert cycles is not None
    assert guess == pytest.approx(cycles, rel=0.1)


def test_more_work_takes_longer() -> None:
    conv = Convolution.of(make_case(parse_layer("C10"), 0), PYNQ, MemoryTiming())
    workload, cost = conv.workload, MachineCost(PYNQ)
    once = estimate(workload, conv.choice, cost)
    twice = replace(workload, data=(2, *workload.data[1:]))
    assert estimate(twice, conv.choice, cost) > 1.8 * once
    more = tuple(AluPass(AluOp.ADD, f"more_{number}") for number in range(6))
    longer = replace(workload, passes=(*workload.passes, *more))
    assert estimate(longer, conv.choice, cost) > once
    assert estimate(workload, conv.choice, MachineCost(PYNQ, MemoryTiming(100, 4))) > once
