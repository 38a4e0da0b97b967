"""Sketches of records in place of a template's schedule, where they cost less."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from tandem.compiler.driver import build
from tandem.compiler.machines.accelerator.sketches.search import sketch_target, sketch_task
from tandem.compiler.machines.accelerator.sketches.template import PRODUCT_SKETCHES
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.timed_streams import timed_streams
from tandem.compiler.plan.tuned_choices import TunedChoices
from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.sketches.computation import Computation
from tandem.runtime.artifact import Provenance
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.offloaded import HOST, run_on
from tests.support.compiler.quantise.networks import network

CONFIG = machine("tiny-x")
FUNCTION = network(
    """
func @main(x: int8[1, 8, 5, 5], w: int8[6, 8, 3, 3], m: int32[6], c: int64[6]):
  s = conv2d(x, w, padding=[1, 1, 1, 1], out_dtype=int32)
  y = requantise(s, m, c, shift=9, low=-128, high=127)
  return y
""",
    w=np.random.default_rng(0).integers(-128, 128, (6, 8, 3, 3)),
    m=np.arange(3, 9),
    c=np.full(6, 256),
)


class Recorded(TunedChoices):
    """Records of a sketch and of a template's choice, with their costs."""

    def __init__(self, sketch: Choice | None, costs: tuple[float, float] = (1.0, inf)) -> None:
        self.sketch, self.costs = sketch, costs

    def choice(self, template: Any, workload: Any) -> Choice | None:
        return self.sketch if template is PRODUCT_SKETCHES else None

    def cost(self, template: Any, workload: Any) -> float:
        return self.costs[template is not PRODUCT_SKETCHES]


def planned(tuned: TunedChoices | None) -> Any:
    (stream,) = timed_streams(FUNCTION, accelerator(CONFIG, tuned=tuned))
    (call,) = stream.calls
    return stream, call


def best_sketch() -> Choice:
    """The sketch of the lowest estimate."""
    target = accelerator(CONFIG)
    _, call = planned(None)
    start = Conv2dOnArray().start(call.plan.workload, target.machine)
    return sketch_task(sketch_target(target), ["y"], Computation.of(start.program)).default


def test_a_cheaper_sketch_is_taken_with_the_bits_of_the_template() -> None:
    choice = best_sketch()
    stream, call = planned(Recorded(choice))
    assert call.sketch is not None
    assert call.sketch.choice == choice
    assert call.measured.plan.template is PRODUCT_SKETCHES
    assert call.measured.plan.choice == choice
    own, _ = planned(None)
    assert stream.stream.program != own.stream.program

    x = np.random.default_rng(1).integers(-128, 128, (1, 8, 5, 5), np.int8)
    results = []
    for tuned in (None, Recorded(choice)):
        targets = accelerator(CONFIG, tuned=tuned), HOST
        artifact = build(FUNCTION, targets, Provenance("test"))
        results.append(run_on(artifact, "cycle", x).outputs["y"])
    own_result, found = results
    np.testing.assert_array_equal(found, own_result)


def test_what_is_not_taken() -> None:
    """None, that of the template, a dearer one, and one that no space has."""
    choice = best_sketch()
    for tuned in (
        Recorded(None),
        Recorded({}),
        Recorded(choice, (2.0, 2.0)),
        Recorded({**choice, "threads": 7}),
    ):
        _, call = planned(tuned)
        assert call.sketch is None
        assert call.measured.plan.template is call.plan.template
