"""What layers cost on an accelerator, with int8 weights and with codes."""

from __future__ import annotations

import pytest

from tandem.compiler.machines.accelerator.layer_costs import LayerCosts
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates.machine_cost import MemoryTiming
from tandem.hw.memory_model import MEMORY_PRESETS
from tandem.runtime.executor import Run
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.coded_graphs import CodedNet
from tests.support.compiler.plan.offloaded import HOST, both, image, run_on
from tests.support.compiler.plan.quantised_graphs import Net
from tests.support.compiler.plan.weighted_layers import network


def costs(config: str, memory: str) -> LayerCosts:
    timing = MEMORY_PRESETS[memory]
    target = accelerator(machine(config), MemoryTiming(timing.latency, timing.interval))
    return LayerCosts(target, HOST)


def test_codes_make_layers_cheaper_that_are_bound_by_their_weights() -> None:
    asked = costs("small8-w", "edge")
    int8, int4 = asked(network(Net(5))), asked(network(CodedNet(5, group=16)))
    assert int8["conv"].bound == "its products"
    # Its first weights come sooner.
    assert 0.95 * int8["conv"].amount < int4["conv"].amount <= int8["conv"].amount
    for layer in ("wide", "out_acc"):
        assert int8[layer].bound == "the bus"
        assert int4[layer].amount < int8[layer].amount
        assert not int4[layer].int8
    assert {cost.unit for cost in int8.values()} == {"cycles"}
    assert "x8" not in int8


def exact(run: Run) -> dict[str, int]:
    return {
        layer.layer.name: layer.cycles or 0
        for stream in run.profile.streams
        for layer in stream.layers
    }


@pytest.mark.parametrize("net", [Net(5), CodedNet(5, group=16)])
def test_they_are_bounds_of_what_a_run_takes(net: Net) -> None:
    function = network(net)
    _, shared = both(function, machine("small8-w"))
    run = run_on(shared, "cycle", image((1, 16, 16, 16)))
    found = costs("small8-w", "fast")(function)
    assert found.keys() == exact(run).keys()
    assert sum(cost.amount for cost in found.values() if cost.bound == "its products") < (
        run.profile.cycles or 0
    )


def test_a_machine_that_widens_nothing() -> None:
    found = costs("small8-x", "edge")(network(CodedNet(5, group=16)))
    assert found["wide"].int8 == "small8-x has no compressed_weights"
    # Groups end within a row of a block.
    found = costs("small8-w", "edge")(network(CodedNet(5, group=4)))
    assert found["wide"].int8.startswith("a scale is for a whole row of a block, 8 weights")
