"""Random sketches of random expressions give the results of the expressions, bit for bit.

The seed is in the test's name. Compared are the interpreter on the expressions as they are, on the
schedule before and after lowering, and native code.
"""

from __future__ import annotations

import random

import pytest

from tandem.compiler.errors import ReplayError, ScheduleError
from tandem.compiler.ir.dtypes import FLOAT32, INDEX, INT32
from tandem.compiler.ir.expr import Var
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.te import cast, compute, placeholder, reduce_axis, sum
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tensor import Reduction
from tandem.compiler.tune.sketches.choosers import Chooser, Replayed, Sampled
from tandem.compiler.tune.sketches.generate import Sketch, generate
from tandem.compiler.tune.sketches.rules import SketchRules
from tandem.compiler.tune.sketches.trace import SketchTrace
from tests.support.compiler.te.random_layers import random_layer
from tests.support.compiler.te.random_schedules import random_outputs
from tests.support.compiler.te.schedules import agree, matmul

RULES = SketchRules(register_bits=128, registers=16)
QUICK, MANY, IN_A_TEST = 3, 100, 20
NATIVE_IN_A_TEST = 4


def drawn(seed: int) -> tuple[Schedule, Sketch]:
    """Expressions, and a sketch of them: every second seed a layer."""
    rng = random.Random(seed)
    outputs = [random_layer(rng)] if seed % 2 else random_outputs(rng)
    start = Schedule.of(*outputs)
    rules = SketchRules(
        register_bits=rng.choice((32, 64, 128, 512)),
        registers=rng.choice((8, 16, 32)),
        threads=rng.choice((1, 4)),
        reassociate=rng.random() < 0.5,
    )
    constants = frozenset(each.name for each in start.program.inputs if rng.random() < 0.5)
    near = rng.random() < 0.5
    return start, generate(start, rules, constants, Sampled(rng, near))


def check(seed: int, target: CpuTarget | None = None) -> None:
    try:
        start, sketch = drawn(seed)
    except ScheduleError:
        return  # Refused before anything is measured: test_few_are_refused says how often.
    try:
        agree(sketch.schedule, start, seed, target)
    except Exception as error:
        raise AssertionError(f"seed {seed}\n{start}\n{sketch.trace}\n{error}") from error


@pytest.mark.parametrize("group", range(QUICK))
def test_some(group: int) -> None:
    for seed in range(group * IN_A_TEST, (group + 1) * IN_A_TEST):
        check(seed)


@pytest.mark.parametrize("group", range(QUICK))
def test_some_in_native_code(group: int) -> None:
    target = CpuTarget.host(threads=2)
    for seed in range(group * NATIVE_IN_A_TEST, (group + 1) * NATIVE_IN_A_TEST):
        check(seed, target)


@pytest.mark.exhaustive
@pytest.mark.parametrize("group", range(MANY))
def test_many(group: int) -> None:
    target = CpuTarget.host(threads=2)
    for seed in range(group * IN_A_TEST, (group + 1) * IN_A_TEST):
        check(seed, target)


def test_few_are_refused_and_every_rule_is_taken() -> None:
    """A test of the test."""
    refused, steps, decisions = 0, set(), set()
    for seed in range(80):
        try:
            _, sketch = drawn(seed)
        except ScheduleError:
            refused += 1
            continue
        steps |= {step.name for step in sketch.schedule.trace}
        decisions |= {each.name.partition(".")[2].split(".")[0] for each in sketch.trace.decisions}
    assert refused < 8
    assert steps >= {
        "split",
        "reorder",
        "compute_at",
        "compute_inline",
        "cache_read",
        "cache_write",
        "set_layout",
        "set_scope",
        "decompose_reduction",
        "rfactor",
        "vectorize",
        "unroll",
        "parallel",
    }
    assert decisions >= {"inline", "lanes", "tile", "block", "pack", "read", "at", "mode", "unroll"}


def test_a_trace_makes_the_same_sketch_again() -> None:
    rng, blocked = random.Random(7), 0
    for seed in range(24):
        start = Schedule.of(random_layer(rng))
        sketch = generate(start, RULES, frozenset(), Sampled(random.Random(seed)))
        trace = SketchTrace.parse(str(sketch.trace))
        again = generate(start, RULES, frozenset(), Replayed.of(trace))
        assert again == sketch
        blocked += any(name.endswith(".blocks") for name in trace.choice)
    assert blocked


def test_a_value_that_is_no_option_is_refused() -> None:
    start = Schedule.of(matmul(8, 8, 8))
    with pytest.raises(ReplayError, match=r"the trace does not decide s0\.sums\.tile\.0: 1, 2"):
        generate(start, RULES, frozenset(), Replayed({"s0.sums.tile.1": 4}))
    values = {"s0.sums.tile.1": 4, "s0.sums.tile.0": 100}
    with pytest.raises(ReplayError, match=r"s0\.sums\.tile\.0 is 100: 1, 2, 3, 4, 8"):
        generate(start, RULES, frozenset(), Replayed(values))


def test_expressions_without_elements_stay_as_they_are() -> None:
    x = placeholder((0, 4), matmul().dtype, "x")
    start = Schedule.of(compute((0, 4), lambda i, j: x[i, j] + 1.0, "y"))
    assert generate(start, RULES, frozenset(), _Never()).schedule == start


class _Never(Chooser):
    def choose(self, name: str, options: object) -> int:
        raise AssertionError(f"{name} is asked for")


def test_long_reductions_have_partial_results() -> None:
    """In the lanes of a vector, where the order of terms is free."""
    x, k = placeholder((4, 64), INT32, "x"), reduce_axis(64, "k")
    start = Schedule.of(compute((4,), lambda i: sum(x[i, k], axis=k), "y"))
    found = [generate(start, RULES, frozenset(), Sampled(random.Random(seed))) for seed in range(9)]
    for sketch in found:
        agree(sketch.schedule, start)
    sizes = {sketch.trace.choice["s0.partial"] for sketch in found}
    assert sizes == {0, 4, 8, 16}
    real = placeholder((4, 64), FLOAT32, "x")
    floats = Schedule.of(compute((4,), lambda i: sum(real[i, k], axis=k), "y"))
    kept = generate(floats, RULES, frozenset(), Sampled(random.Random(0)))
    assert "s0.partial" not in kept.trace.choice


def test_a_stage_that_cannot_be_tiled_is_still_computed() -> None:
    """Of a reduction whose operand is read at computed places, no axis is one of vectors."""
    x, k = placeholder((16,), INT32, "x"), reduce_axis(16, "k")
    table = placeholder((32,), INT32, "table")

    def element(i: Var) -> Reduction:
        return sum(table[cast(x[k], INDEX) % 32] * x[i] + table[(i * k) % 32], axis=k)

    start = Schedule.of(compute((16,), element, "y"))
    for seed in range(4):
        agree(generate(start, RULES, frozenset(), Sampled(random.Random(seed))).schedule, start)
