"""What the accelerator's target says of a configuration and of its options."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.compiler.graph.nodes import Call
from tandem.compiler.graph.types import Type
from tandem.compiler.machines.accelerator.costs import AcceleratorCosts
from tandem.compiler.machines.accelerator.limits import limit_of
from tandem.compiler.machines.accelerator.sketches.products import ALL_PRODUCTS, RECORDED_PRODUCTS
from tandem.compiler.machines.accelerator.target import TEMPLATES, accelerator
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost, MemoryTiming
from tandem.compiler.plan.tuned_choices import TunedChoices
from tandem.compiler.te.knobs import Choice
from tandem.hw.config_files import load_config
from tests.support.compiler.graph.graphs import graph


class Records(TunedChoices):
    """No choices, of which some may be of a sketch."""

    def __init__(self, sketched: bool) -> None:
        self.sketched = sketched

    def choice(self, template: Any, workload: Any) -> Choice | None:
        return None

    def knows(self, template: Any) -> bool:
        return self.sketched and template is RECORDED_PRODUCTS


TINY, PACKED = load_config("tiny"), load_config("tiny-w")


def test_the_plain_target() -> None:
    target = accelerator(TINY)
    assert target.name == "accelerator"
    assert target.templates == TEMPLATES
    assert target.machine.config == TINY
    assert target.settings == ()
    assert target.limit_of is limit_of
    assert target.cost == AcceleratorCosts(MachineCost(TINY, MemoryTiming()))
    timing = MemoryTiming(9, 4)
    assert accelerator(TINY, timing).cost == AcceleratorCosts(MachineCost(TINY, timing))
    # One thread hides nothing.
    assert accelerator(TINY, hiding=False).settings == (("threads", (1,)),)


def test_the_first_template_that_matches_is_of_the_array() -> None:
    names = [template.name for template in TEMPLATES]
    assert len({*names}) == len(names)
    assert names.index("conv2d") < names.index("elementwise")


def test_sketches_are_behind_all_templates() -> None:
    assert accelerator(TINY, sketches=True).templates == (*TEMPLATES, ALL_PRODUCTS)
    # Records without a sketch are no reason for one.
    assert accelerator(TINY, tuned=Records(False)).templates == TEMPLATES
    recorded = (*TEMPLATES, RECORDED_PRODUCTS)
    assert accelerator(TINY, tuned=Records(True)).templates == recorded
    assert accelerator(TINY, tuned=Records(True), sketches=True).templates[-1] is ALL_PRODUCTS
    assert RECORDED_PRODUCTS not in accelerator(TINY, sketches=True).templates


@pytest.mark.parametrize(
    ("operator", "weighted"),
    [
        ("conv2d(x, w, padding=[0, 0, 0, 0])", True),
        ("add(x, x)", False),
    ],
)
def test_compressed_weights_are_those_of_convolutions_and_dense_layers(
    operator: str, weighted: bool
) -> None:
    shapes = "x: int8[1, 4, 3, 3], w: int8[4, 4, 1, 1]"
    function = graph(f"func @main({shapes}):\n  y = {operator}\n  return y\n")
    call = function.body.lets[-1].value
    assert isinstance(call, Call)
    result: Type = function.params[0].type
    assert accelerator(PACKED).takes_compressed(call, result) is weighted
    assert accelerator(TINY).takes_compressed(call, result) is False
