"""Mutation and crossover of traces: children are legal, and traces are replayed as they are."""

from __future__ import annotations

import random

import pytest

from tandem.compiler.errors import ReplayError
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.sketches.evolution import Breeder, replay
from tandem.compiler.tune.sketches.rules import SketchRules
from tandem.compiler.tune.sketches.trace import SketchTrace
from tests.support.compiler.te.random_layers import random_layer
from tests.support.compiler.te.schedules import agree, matmul

RULES = SketchRules(register_bits=128, registers=16)


@pytest.mark.parametrize("seed", range(12))
def test_children_are_legal_and_replayed(seed: int) -> None:
    rng = random.Random(seed)
    start = Schedule.of(random_layer(rng))
    constants = frozenset(each.name for each in start.program.inputs if rng.random() < 0.5)
    breeder = Breeder(start, RULES, constants, rng)
    mother, father = breeder.sample(), breeder.sample()
    assert mother is not None
    assert father is not None
    for _ in range(4):
        mutant = breeder.mutate(mother.trace)
        child = breeder.cross(mother.trace, father.trace)
        for sketch in (mutant, child):
            assert sketch is not None
            agree(sketch.schedule, start, seed)
            assert replay(start, RULES, constants, sketch.trace) == sketch
        assert mutant is not None
        mother = mutant


def test_a_mutant_differs_and_keeps_most() -> None:
    start = Schedule.of(matmul(32, 32, 32))
    breeder = Breeder(start, RULES, frozenset(), random.Random(0))
    parent = breeder.sample()
    assert parent is not None
    for _ in range(20):
        mutant = breeder.mutate(parent.trace)
        assert mutant is not None
        assert mutant.trace != parent.trace
        assert mutant.trace.choice.items() & parent.trace.choice.items()


def test_decisions_that_nothing_asks_for_are_refused() -> None:
    start = Schedule.of(matmul(8, 8, 8))
    sketch = Breeder(start, RULES, frozenset(), random.Random(0)).sample()
    assert sketch is not None
    trace = SketchTrace.of(sketch.trace.choice | {"s9.lanes": "i0"})
    with pytest.raises(ReplayError, match=r"the trace decides s9\.lanes, which nothing asks for"):
        replay(start, RULES, frozenset(), trace)
