"""Estimated cycles of convolutions, where only one thing differs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tandem.compiler.machines.accelerator.templates.conv2d_cycles import Conv2dCycles
from tandem.compiler.machines.accelerator.templates.conv2d_tiled import ORDERS
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost, MemoryTiming
from tandem.compiler.machines.accelerator.templates.parameter_passes import RequantisePass
from tandem.compiler.plan.space import Choices
from tandem.hw.config_files import load_config
from tandem.hw.topology import MemoryId

COST = MachineCost(load_config("pynq-x"), MemoryTiming(64, 4))
"""So slow a memory that loads decide."""
IMAGES, OC, Y, X = 3, 2, 4, 5
WORKLOAD = Conv2dWorkload(
    data=(IMAGES, 2, 8, 10, 1, 16),
    weight=(6, 2, 1, 1, 16, 16),
    strides=(1, 1),
    padding=(0, 0, 0, 0),
    dilation=(1, 1),
    groups=1,
    passes=(RequantisePass(residual=None, resident=True),),
)
TILES = 3 * 2 * 2


def loads_apart(order: str) -> float:
    """The cycles that parameters which do not stay cost, by the quick estimate."""
    choices = Choices.of(
        [{"threads": 1, "along": "oc", "order": order, "oc": OC, "y": Y, "x": X, "ic": 1}]
    )
    stay, reloaded = (
        Conv2dCycles(replace(WORKLOAD, passes=(RequantisePass(None, resident),)), choices, COST)
        for resident in (True, False)
    )
    difference = reloaded.quick_estimate() - stay.quick_estimate()
    return float(difference.item())


@pytest.mark.parametrize("order", ORDERS)
def test_parameters_that_do_not_stay_are_loaded_for_each_tile(order: str) -> None:
    """A LOAD of the tile's blocks from PAR for each of twelve tiles of three images."""
    assert loads_apart(order) == IMAGES * TILES * COST.load(MemoryId.PAR, np.array(OC))


@pytest.mark.parametrize("order", ORDERS)
def test_the_simulation_loads_them_as_well(order: str) -> None:
    choices = Choices.of(
        [{"threads": 1, "along": "oc", "order": order, "oc": OC, "y": Y, "x": X, "ic": 1}]
    )
    stay, reloaded = (
        Conv2dCycles(replace(WORKLOAD, passes=(RequantisePass(None, resident),)), choices, COST)
        for resident in (True, False)
    )
    assert reloaded.simulated().item() > stay.simulated().item()
