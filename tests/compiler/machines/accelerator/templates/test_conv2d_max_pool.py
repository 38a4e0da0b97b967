"""Maxima of sums that stay on chip are exact, for random windows, tiles and machines."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.driver import build
from tandem.compiler.graph import Function, Var
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates.machine_cost import MemoryTiming
from tandem.compiler.machines.accelerator.timed_streams import simplified, timed_streams
from tandem.compiler.machines.cpu.runner import exact_runner
from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Program
from tandem.hw.memory_model import MemoryModel
from tandem.runtime.artifact import Provenance, streams_of
from tandem.runtime.devices import AcceleratorDevice, CpuDevice
from tandem.runtime.executor import Executor
from tandem.sim.engines import make_engine
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.random_operators import random_tests
from tests.support.compiler.machines.accelerator.templates.random_workloads import (
    check_of,
    draw_pooled_conv2d,
)
from tests.support.compiler.machines.accelerator.vta import check_for_vta
from tests.support.compiler.plan.offloaded import HOST, image
from tests.support.compiler.plan.quantised_graphs import Net

SLOW = MemoryModel(latency=64, interval=8, in_flight=32)
"""Memory with which what moves less is faster."""

test_few, test_many, test_few_on_rtl, test_many_on_rtl = random_tests(
    check_of(draw_pooled_conv2d), few=16
)


def network(size: int = 32) -> Function:
    """A convolution, and maxima over windows of 3 x 3 of its results."""
    net = Net(5)
    x = net.quantise("x8", Var("x"))
    y = net.max_pool("pool", net.conv("first", x, (8, 8), 3, 1, 1))
    return net.function((1, 8, size, size), y)


def roomy(name: str) -> HardwareConfig:
    """A machine with memory for large tiles."""
    config = machine(name)
    return config.replace(
        log_inp_buffer=config.log_inp_buffer + 2, log_acc_buffer=config.log_acc_buffer + 2
    )


@pytest.mark.parametrize("name", ["small8", "small8-x"])
def test_a_layer_and_its_pooling_are_one(name: str) -> None:
    """With the results of the processor; on machines without features by VTA's instructions."""
    config, function = roomy(name), network()
    target = accelerator(config, MemoryTiming(SLOW.latency, SLOW.interval))
    artifact = build(function, [target, HOST], Provenance("test"))
    (code,) = streams_of(artifact).values()
    assert [layer.operators for layer in code.layers] == [("conv2d", "requantise", "max_pool")]
    assert code.layers[0].macs == 8 * 8 * 3 * 3 * 32 * 32
    check_for_vta(Program(config, code.program))
    alone = build(function, [HOST], Provenance("test"))
    x = image((1, 8, 32, 32))
    (wanted,) = Executor(alone, [CpuDevice(1)]).run({"x": x}).outputs.values()
    for engine in ("functional", "cycle"):
        made = make_engine(engine, config, SLOW)
        try:
            run = Executor(artifact, [AcceleratorDevice(made), CpuDevice(1)]).run({"x": x})
        finally:
            made.close()
        (found,) = run.outputs.values()
        np.testing.assert_array_equal(found, wanted)


def test_where_the_array_has_no_time_to_compute_sums_twice_it_does_not() -> None:
    target = accelerator(roomy("small8-x"), MemoryTiming(1, 1))
    (stream,) = timed_streams(simplified(network(), exact_runner()), target)
    assert len(stream.calls) == 2
