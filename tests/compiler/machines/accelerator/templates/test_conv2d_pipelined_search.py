"""The search of the wide space finds what the enumeration of all its choices finds."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates import conv2d
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray, prices_of
from tandem.compiler.machines.accelerator.templates.conv2d_pipelined_cycles import (
    FREE,
    PipelinedCycles,
    Prices,
    TileCycles,
)
from tandem.compiler.machines.accelerator.templates.conv2d_pipelined_search import best_choice
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.dense import DenseOnArray
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost, MemoryTiming
from tandem.compiler.machines.accelerator.templates.parameter_passes import RequantisePass
from tandem.compiler.machines.accelerator.templates.products import of_convolution
from tandem.compiler.machines.accelerator.templates.template import AcceleratorTemplate
from tandem.compiler.plan.planner import best_choice as planned_choice
from tandem.compiler.plan.space import Choices, Floats
from tandem.compiler.te.knobs import Setting
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tests.compiler.machines.accelerator.templates.test_conv2d_choices import (
    GROUPED,
    PYNQ,
    WORKLOAD,
)
from tests.compiler.machines.accelerator.templates.test_dense_pipelined import LAYER
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.random_workloads import (
    Drawer,
    draw_conv2d,
    draw_dense,
)
from tests.support.compiler.machines.accelerator.templates.wide_spaces import CONFIGS

TEMPLATE = Conv2dOnArray()
SEEDS = st.integers(0, 2**32 - 1)
TIMINGS = (MemoryTiming(), MemoryTiming(1, 1), MemoryTiming(64, 4), MemoryTiming(300, 2))
PYNQ_X = load_config("pynq-x")
PASSES = (RequantisePass(),)
RESIDUAL = (RequantisePass(residual="skip"),)


def of_resnet(
    inputs: int, outputs: int, size: int, kernel: int, stride: int = 1, residual: bool = False
) -> Conv2dWorkload:
    """A convolution of ResNet-18, of this many blocks of channels, as `pynq-x` takes it."""
    return Conv2dWorkload(
        (1, inputs, size, size, 1, 16),
        (outputs, inputs, kernel, kernel, 16, 16),
        strides=(stride, stride),
        padding=(kernel // 2,) * 4,
        dilation=(1, 1),
        groups=1,
        passes=RESIDUAL if residual else PASSES,
    )


LARGE = {
    "C2": of_resnet(4, 4, 56, 3),
    "C4": of_resnet(4, 8, 56, 1, 2),
    "C5 with a residual": of_resnet(8, 8, 28, 3, residual=True),
    "C8 with a residual": of_resnet(16, 16, 14, 3, residual=True),
    "C9": of_resnet(16, 32, 14, 3, 2),
    "C11": of_resnet(32, 32, 7, 3),
    "the windows of C1": replace(of_resnet(10, 4, 112, 1), padding=(0, 0, 0, 0)),
}


def enumerated(
    template: AcceleratorTemplate[Any], workload: Any, cost: MachineCost, prices: Prices = FREE
) -> tuple[Choices, Floats]:
    """All choices of the wide space that fit, and the estimate of each with its prices."""
    target = AcceleratorTarget.of(cost.config)
    space = template.wide_space(workload, target)
    assert space is not None, "the template has one"
    choices = space.choices()
    fitting = choices.where(template.fits(workload, choices, target))
    work = template.work_counts(workload, fitting)
    # Of a tile's instructions that multiply or reset, one resets.
    products = work.gemms - work.tiles
    added = prices.product * products
    if prices.bus:
        convolution, alike = workload, fitting
        if isinstance(template, DenseOnArray):
            convolution = workload.products.pixels(workload.passes)
            alike = of_convolution(fitting)
        tiles = TileCycles.of(convolution, alike, cost)
        cycles = PipelinedCycles.of(tiles, np.arange(len(alike)), alike)
        added = added + prices.bus * cycles.loading
    return fitting, template.estimate(workload, fitting, cost) + added


def check(workload: Conv2dWorkload, cost: MachineCost, prices: Prices = FREE) -> None:
    """Compare the search of a convolution's space with `argmin`, without a limit and around one."""
    choices, estimates = enumerated(TEMPLATE, workload, cost, prices)
    least = float(estimates.min(initial=inf))
    if least == inf:
        assert best_choice(workload, cost, inf, prices) is None
        return
    best = choices.choice(int(np.argmin(estimates)))
    for below in (inf, 2 * least, least + 1):
        assert best_choice(workload, cost, below, prices) == (best, least), (workload, below)
    assert best_choice(workload, cost, least, prices) is None


@settings(max_examples=25)
@given(
    seed=SEEDS,
    name=st.sampled_from(CONFIGS),
    timing=st.sampled_from(TIMINGS),
    prices=st.builds(Prices, st.sampled_from((0.0, 0.25, 4.0)), st.sampled_from((0.0, 0.03, 1.0))),
)
def test_the_choice_is_that_of_the_enumeration(
    seed: int, name: str, timing: MemoryTiming, prices: Prices
) -> None:
    layer = draw_conv2d(np.random.default_rng(seed), config := machine(name))
    check(layer.workload, MachineCost(config, timing), prices)


@settings(max_examples=25)
@given(seed=SEEDS, name=st.sampled_from(CONFIGS), timing=st.sampled_from(TIMINGS))
def test_no_estimate_is_below_the_bounds(seed: int, name: str, timing: MemoryTiming) -> None:
    layer = draw_conv2d(np.random.default_rng(seed), config := machine(name))
    cost = MachineCost(config, timing)
    choices, estimates = enumerated(TEMPLATE, layer.workload, cost)
    tiles = TileCycles.of(layer.workload, choices, cost)
    bounds = PipelinedCycles.of(tiles, np.arange(len(choices)), choices).least()
    assert (tiles.least() <= bounds).all()
    assert (bounds <= estimates).all()


def test_a_layer_that_is_extrapolated() -> None:
    cost = MachineCost(PYNQ, TIMINGS[2])
    check(GROUPED, cost, prices_of(cost))


@pytest.mark.exhaustive
@pytest.mark.parametrize("workload", [WORKLOAD, GROUPED])
@pytest.mark.parametrize("timing", TIMINGS)
def test_layers_that_are_extrapolated(workload: Conv2dWorkload, timing: MemoryTiming) -> None:
    check(workload, MachineCost(PYNQ, timing))


@pytest.mark.exhaustive
@pytest.mark.parametrize("config", [PYNQ, PYNQ_X], ids=lambda config: config.name)
@pytest.mark.parametrize("timing", [TIMINGS[0], TIMINGS[2]], ids=["fast", "edge"])
@pytest.mark.parametrize("layer", LARGE)
def test_layers_of_resnet18(layer: str, timing: MemoryTiming, config: HardwareConfig) -> None:
    workload = LARGE[layer]
    if config is PYNQ:
        # Without the extension sums are requantised by passes of the ALU.
        workload = replace(workload, passes=WORKLOAD.passes)
    check(workload, MachineCost(config, timing))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("drawer", [draw_conv2d])
def test_many_layers(name: str, drawer: Drawer) -> None:
    for seed in range(150):
        layer = drawer(np.random.default_rng(seed), config := machine(name))
        cost = MachineCost(config, TIMINGS[seed % len(TIMINGS)])
        check(layer.workload, cost, (FREE, prices_of(cost))[seed // len(TIMINGS) % 2])


@settings(max_examples=15)
@given(seed=SEEDS, name=st.sampled_from(CONFIGS), timing=st.sampled_from(TIMINGS))
def test_dense_layers(seed: int, name: str, timing: MemoryTiming) -> None:
    """A dense layer's choice is the first of least estimate; if it is better than the base one."""
    layer = draw_dense(np.random.default_rng(seed), config := machine(name))
    target = accelerator(config, timing)
    base = planned_choice(target, layer.template, layer.workload, {"threads": (1, 2)})
    found = layer.template.wide_choice(layer.workload, base, MachineCost(config, timing))
    if found is not None:
        cost = MachineCost(config, timing)
        choices, estimates = enumerated(layer.template, layer.workload, cost, prices_of(cost))
        assert choices.choice(int(np.argmin(estimates))) == found


def test_the_planner_takes_the_wide_choice_where_it_is_better() -> None:
    slow = MemoryTiming(64, 4)
    for template, workload in ((TEMPLATE, WORKLOAD), (DenseOnArray(), LAYER)):
        chosen = planned_choice(accelerator(PYNQ, slow), template, workload)
        cost = MachineCost(PYNQ, slow)
        choices, estimates = enumerated(template, workload, cost, prices_of(cost))
        assert chosen == choices.choice(int(np.argmin(estimates)))


@pytest.mark.parametrize(("above", "taken"), [(1.02, False), (1.05, True)])
def test_what_only_the_estimate_has_for_better_is_taken_near_the_bound_alone(
    above: float, taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first layer of `dqn`, whose windows are many short LOADs: the base choice's estimate is
    12 % too high, and its bound is below every choice of the wide space, the best by 2.5 %."""
    monkeypatch.setattr(conv2d, "_ABOVE_BOUND", above)
    workload = replace(of_resnet(16, 2, 20, 1), padding=(0, 0, 0, 0))
    cost = MachineCost(PYNQ_X, MemoryTiming(64, 4))
    target = accelerator(PYNQ_X, cost.memory)
    base = planned_choice(target, TEMPLATE, workload, {"threads": (2, 1)})
    (estimate,) = TEMPLATE.estimate(workload, Choices.of([base]), cost)
    assert best_choice(workload, cost, float(estimate) * 0.97) is not None
    found = TEMPLATE.wide_choice(workload, base, cost)
    assert (found is not None) is taken
    assert planned_choice(target, TEMPLATE, workload) == (found or base)


def test_restrictions_are_of_the_base_space() -> None:
    slow = MemoryTiming(64, 4)
    held: dict[str, tuple[Setting, ...]] = {"threads": (1,)}
    assert "part" not in planned_choice(accelerator(PYNQ, slow), TEMPLATE, WORKLOAD, held)
    assert "part" not in planned_choice(accelerator(PYNQ, slow, hiding=False), TEMPLATE, WORKLOAD)
