"""No program is faster than its choice's lower bound, on any machine, with any memory.

A certificate of the tuner rests on that; `compiler.tune.tuner` also checks it in every run.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.target import TEMPLATES
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.lower_bound import counted_bound, lower_bound
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost, MemoryTiming
from tandem.compiler.machines.accelerator.templates.requantise_passes import epilogue_passes
from tandem.compiler.machines.accelerator.templates.template import AcceleratorTemplate
from tandem.compiler.plan.space import Choices
from tandem.compiler.requantisation import RequantSpec, Residual
from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.candidates import Candidates
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import MemoryModel, parse_memory
from tandem.sim.cycle.engine import CycleEngine
from tandem.sim.engine import Launch
from tandem.sim.errors import NeedsDataError
from tandem.sim.memory import place_program
from tandem.workbench.devices import Accelerator
from tandem.workbench.measurers.on_cycle import cycles_of
from tandem.workbench.utilization.conv_layers import parse_layer
from tandem.workbench.utilization.tasks import tasks_of_layers
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import (
    CONFIGS,
    EXTENDED,
    machine,
)
from tests.support.compiler.machines.accelerator.templates.random_choices import Drawn, drawn

FEW, MANY = 2, 60
CHOICES = 3


def check(template: AcceleratorTemplate[Any], seed: int, name: str) -> list[float]:
    """The least and exact cycles' ratio of random choices of a random workload."""
    config = machine(name)
    found = drawn(template, seed, config, CHOICES)
    rng = np.random.default_rng(seed)
    latency, interval = int(rng.choice([1, 5, 16, 64, 300])), int(rng.choice([1, 2, 4, 9]))
    memory = MemoryModel(latency, interval, int(rng.choice([1, 2, 16])))
    cost = MachineCost(config, MemoryTiming(latency, interval))
    bounds = lower_bound(template, found.workload, found.choices, cost)
    engine, ratios = CycleEngine(config, memory), []
    for row, bound in enumerate(bounds):
        stream = found.stream(found.choices.choice(row))
        image, address = place_program(stream.image({}), stream.program)
        try:
            result = engine.launch(stream.program, image, Launch(address=address, data=False))
        except NeedsDataError:
            continue
        assert result.cycles is not None
        assert bound <= result.cycles, (found.workload, found.choices.choice(row), memory)
        ratios.append(float(bound / result.cycles))
    return ratios


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ["small8", "extended"])
@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_few(template: AcceleratorTemplate[Any], name: str) -> None:
    for seed in range(FEW):
        check(template, seed, name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [*CONFIGS, *EXTENDED])
@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_many(template: AcceleratorTemplate[Any], name: str) -> None:
    ratios = [ratio for seed in range(1000, 1000 + MANY) for ratio in check(template, seed, name)]
    # A bound that is always zero would be right, too.
    assert max(ratios, default=1) > 0.1


@pytest.mark.parametrize("features", [False, True], ids=["base", "extended"])
@pytest.mark.parametrize("memory", ["fast", "edge"])
def test_the_order_of_instructions_bounds_closely(memory: str, features: bool) -> None:
    """A tile's first loads, its last STORE and the waits between cost more than what is counted."""
    config = load_config("pynq-x" if features else "pynq")
    model = parse_memory(memory)
    cost = MachineCost(config, MemoryTiming(model.latency, model.interval))
    accelerator = Accelerator(config, model, hiding=True)
    (task,) = tasks_of_layers([parse_layer("C10")], accelerator, 0)
    exact = cycles_of(accelerator.layer(task), task.default, inf).cost
    of = Conv2dOnArray(), task.workload, Choices.of([task.default]), cost
    bound, counted = lower_bound(*of).item(), counted_bound(*of).item()
    assert counted < 0.97 * bound
    assert 0.9 * exact < bound <= exact


def check_close(layer: str, config: str, memory: str, count: int) -> None:
    """No choice of a convolution is faster than its bound, of `count` whose bounds are small."""
    model = parse_memory(memory)
    accelerator = Accelerator(load_config(config), model, hiding=True)
    (task,) = tasks_of_layers([parse_layer(layer)], accelerator, 0)
    found = Candidates.of(task.target, task.template, task.workload)
    close = np.flatnonzero(found.bounds <= 1.5 * found.bounds.min())
    rows = np.random.default_rng(0).permutation(close)[:count]
    for row in rows.tolist():
        exact = cycles_of(accelerator.layer(task), found.choice(row), inf).cost
        assert found.bounds[row] <= exact, found.choice(row)


def check_choice(layer: str, config: str, memory: str, choice: Choice, least: float) -> None:
    """A choice of a convolution is no faster than its bound, which is more than `least` of it."""
    model = parse_memory(memory)
    accelerator = Accelerator(load_config(config), model, hiding=True)
    (task,) = tasks_of_layers([parse_layer(layer)], accelerator, 0)
    whole: Choice = {**task.default, **choice}
    exact = cycles_of(accelerator.layer(task), whole, inf).cost
    cost = MachineCost(accelerator.config, MemoryTiming(model.latency, model.interval))
    bound = lower_bound(Conv2dOnArray(), task.workload, Choices.of([whole]), cost).item()
    assert least * exact < bound <= exact


@pytest.mark.every(2)
@pytest.mark.parametrize("config", ["pynq", "pynq-x"])
@pytest.mark.parametrize("layer", ["a=10,10,64,112,3,1,1", "b=14,14,64,96,1,2,0"])
def test_tiles_at_edges_and_first_products(layer: str, config: str) -> None:
    """Loads of smaller tiles wait for less, and so do first products that overwrite."""
    check_close(layer, config, "fast", 25)


@pytest.mark.parametrize("config", ["ultra96", "ultra96-x"])
def test_a_tile_waits_for_the_stores_of_its_blocks_alone(config: str) -> None:
    """The last tile of 3, 3 and 2 blocks of channels waits for two of the three before it."""
    choice: Choice = {
        "threads": 1,
        "ic": 4,
        "oc": 3,
        "x": 4,
        "y": 4,
        "order": "image",
        "along": "oc",
    }
    check_choice("C4", config, "fast", choice, 0.95)


@pytest.mark.parametrize("config", ["pynq", "pynq-x"])
@pytest.mark.parametrize("order", ["outputs", "image"])
def test_a_tile_of_one_row_is_loaded_at_once(order: str, config: str) -> None:
    """The blocks of a tile of three rows are a LOAD each; the last tile's of one row are one."""
    choice: Choice = {
        "threads": 1,
        "ic": 8,
        "oc": 1,
        "x": 1,
        "y": 3,
        "order": order,
        "along": "oc",
    }
    check_choice("a=7,7,128,64,1,1,0", config, "fast", choice, 0.9)


@pytest.mark.parametrize("config", ["pynq", "pynq-x"])
def test_rows_and_columns_that_tiles_share_are_loaded_for_each(config: str) -> None:
    """A slow memory waits for little else."""
    choice: Choice = {
        "threads": 1,
        "ic": 1,
        "oc": 1,
        "x": 14,
        "y": 7,
        "order": "image",
        "along": "oc",
    }
    check_choice("a=28,28,16,16,3,1,1", config, "edge", choice, 0.95)


def test_element_wise_operands_are_loaded_before_products() -> None:
    """Compute loads a residual while weights are on their way."""
    assert check(Conv2dOnArray(), 1020, "small8")


@pytest.mark.exhaustive
@pytest.mark.parametrize("memory", ["fast", "edge"])
@pytest.mark.parametrize("config", ["pynq", "pynq-x", "ultra96"])
@pytest.mark.parametrize("layer", [f"C{number}" for number in range(2, 12)])
def test_convolutions_of_resnet18(layer: str, config: str, memory: str) -> None:
    check_close(layer, config, memory, 150)


def test_element_wise_operands_have_output_channels() -> None:
    """On `tall` a block of outputs has half the bytes of a block of inputs."""
    config, outputs, memory = machine("tall"), 16, MemoryModel(1, 9, 16)
    channels = outputs * config.block_out
    numbers = (3,) * channels, (5,) * channels
    spec = RequantSpec(*numbers, 9, -128, 127, 2**12, (Residual(7),))
    passes, arguments = epilogue_passes(spec, channels, config)
    data = (1, 1, 1, 8, config.batch, config.block_in)
    weight = (outputs, 1, 1, 1, config.block_out, config.block_in)
    workload = Conv2dWorkload(data, weight, (1, 1), (0, 0, 0, 0), (1, 1), 1, passes)
    whole: Choice = {"threads": 1, "ic": 1, "oc": outputs, "x": 4, "y": 1}
    choice = {**whole, "order": "outputs", "along": "oc"}
    target, choices = AcceleratorTarget.of(config), Choices.of([choice])
    found = Drawn(Conv2dOnArray(), workload, arguments.immediates, choices, target)
    stream = found.stream(choice)
    image, address = place_program(stream.image({}), stream.program)
    launch = Launch(address=address, data=False)
    exact = CycleEngine(config, memory).launch(stream.program, image, launch).cycles
    cost = MachineCost(config, MemoryTiming(memory.latency, memory.interval))
    bound = lower_bound(found.template, workload, choices, cost).item()
    assert exact is not None
    assert 0.6 * exact < bound <= exact
