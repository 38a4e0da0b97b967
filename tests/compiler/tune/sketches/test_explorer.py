"""The explorer of sketches: what it proposes is legal, new, and determined by seed and outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from statistics import quantiles

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.lower import lower
from tandem.compiler.te.build import program_of
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.sketches.computation import Computation
from tandem.compiler.tune.sketches.evolution import Breeder, replay
from tandem.compiler.tune.sketches.explorer import FIRST, SketchExplorer
from tandem.compiler.tune.sketches.generate import Sketch
from tandem.compiler.tune.sketches.rules import SketchRules
from tandem.compiler.tune.sketches.trace import SketchTrace
from tandem.compiler.tune.sketches.vectors import program_numbers
from tandem.compiler.tune.trial import Outcome, Trial
from tests.support.compiler.te.schedules import matmul

RULES = SketchRules(register_bits=128, registers=16)


def lowered(schedule: Schedule) -> PrimFunc:
    return lower(schedule.program)


def explorer(seed: int = 0) -> SketchExplorer:
    computation = Computation.of(program_of([matmul(32, 32, 32)]), (1,))
    return SketchExplorer(computation, RULES, lowered, seed)


def cost(trace: SketchTrace) -> float:
    """Least for register tiles of four rows of two vectors."""
    choice = trace.choice
    return 1.0 + abs(int(choice["s0.sums.tile.0"]) - 4) + abs(int(choice["s0.sums.tile.1"]) - 8)


def drawn(count: int) -> list[Sketch]:
    """Random sketches."""
    computation = Computation.of(program_of([matmul(32, 32, 32)]), (1,))
    start, names = computation.start(), computation.constant_names
    found = (Breeder(start, RULES, names, Random(seed)).sample() for seed in range(count))
    return [sketch for sketch in found if sketch is not None]


def searched(found: SketchExplorer, batches: int) -> Sequence[SketchTrace]:
    for _ in range(batches):
        rows = found.propose(8)
        found.learn([Trial(row, Outcome.measured(cost(found.table.traces[row]))) for row in rows])
    return found.table.traces


def test_proposals_are_new_and_legal() -> None:
    found = explorer()
    traces = searched(found, 4)
    assert len(set(traces)) == len(traces) == 32
    assert found.seen.all()
    computation = Computation.of(program_of([matmul(32, 32, 32)]), (1,))
    for trace in traces:
        replay(computation.start(), RULES, computation.constant_names, trace)


def test_equal_outcomes_lead_to_equal_proposals() -> None:
    assert searched(explorer(3), 4) == searched(explorer(3), 4)
    assert searched(explorer(3), 1) != searched(explorer(4), 1)


def test_it_learns() -> None:
    found = explorer()
    traces = searched(found, 8)
    first = [cost(trace) for trace in traces[:FIRST]]
    last = [cost(trace) for trace in traces[-FIRST:]]
    assert sum(last) < 0.7 * sum(first)
    assert found.best == min(map(cost, traces))


def test_half_of_the_first_have_few_steps() -> None:
    """Four times as many are drawn as are measured, half of which are the ones of fewest steps."""
    steps: list[float] = []
    for seed in range(6):
        found = explorer(seed)
        steps += [found.table.numbers[row].steps for row in found.propose(16)]
    numbers = [program_numbers(lowered(each.schedule), RULES.register_bits) for each in drawn(96)]
    quarter, half, _ = quantiles((each.steps for each in numbers), n=4)
    few = sum(each <= quarter for each in steps) / len(steps)
    many = sum(each > half for each in steps) / len(steps)
    # Of random ones a quarter and a half.
    assert few > 0.4
    assert 0.1 < many < 0.4


def test_what_cannot_be_lowered_is_never_proposed() -> None:
    refused = []

    def fails(schedule: Schedule) -> PrimFunc:
        if any(step.name == "cache_read" for step in schedule.trace):
            refused.append(schedule)
            raise CodegenError("not today")
        return lowered(schedule)

    computation = Computation.of(program_of([matmul(32, 32, 32)]), (1,))
    found = SketchExplorer(computation, RULES, fails, 0)
    traces = searched(found, 3)
    assert traces
    assert found.refused == len(refused) > 0
    for trace in traces:
        sketch = replay(computation.start(), RULES, computation.constant_names, trace)
        assert all(step.name != "cache_read" for step in sketch.schedule.trace)


def test_a_table_of_sketches_finds_its_rows() -> None:
    found = explorer()
    searched(found, 1)
    choice = found.table.choice(2)
    assert found.table.row(choice) == 2
    assert [*choice] == sorted(choice), "as in records"
    assert found.table.row({}) is None
    assert not found.table.listed


def test_without_any_sketch_the_search_ends() -> None:
    def fails(schedule: Schedule) -> PrimFunc:
        raise CodegenError("never")

    computation = Computation.of(program_of([matmul(8, 8, 8)]))
    found = SketchExplorer(computation, RULES, fails, 0)
    assert found.propose(8) == ()
