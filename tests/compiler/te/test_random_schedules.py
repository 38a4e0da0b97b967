"""Random expressions under random primitives: each legal sequence keeps the result, bit for bit.

Compared are the interpreter on the expressions as they are, the interpreter on the schedule, before
and after lowering, and native code.

The seed is in the test's name. What is illegal is refused with a `ScheduleError`, and with nothing
else.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.te.random_schedules import random_outputs, random_schedule
from tests.support.compiler.te.schedules import agree

QUICK = 12
MANY = 250
IN_A_TEST = 20
NATIVE_IN_A_TEST = 4
ATTEMPTS = 14


def check(seed: int, target: CpuTarget | None = None) -> None:
    check_with(random.Random(seed), seed, target)


def check_with(rng: random.Random, seed: int, target: CpuTarget | None) -> None:
    """The seed is that of the inputs."""
    start = Schedule.of(*random_outputs(rng))
    schedule, _ = random_schedule(rng, start, ATTEMPTS)
    try:
        agree(schedule, start, seed, target)
    except Exception as error:
        steps = "\n".join(str(each) for each in schedule.trace)
        raise AssertionError(f"seed {seed}\n{start}\n{steps}\n{schedule}\n{error}") from error


@settings(max_examples=150)
@given(st.randoms(use_true_random=False))
def test_any(rng: random.Random) -> None:
    """Hypothesis draws, and makes what fails smaller."""
    check_with(rng, 0, None)


@pytest.mark.parametrize("group", range(QUICK))
def test_some(group: int) -> None:
    for seed in range(group * IN_A_TEST, (group + 1) * IN_A_TEST):
        check(seed)


@pytest.mark.parametrize("group", range(QUICK))
def test_some_in_native_code(group: int) -> None:
    target = CpuTarget.host()
    for seed in range(group * NATIVE_IN_A_TEST, (group + 1) * NATIVE_IN_A_TEST):
        check(seed, target)


@pytest.mark.exhaustive
@pytest.mark.parametrize("group", range(QUICK, QUICK + MANY))
def test_many(group: int) -> None:
    target = CpuTarget.host()
    for seed in range(group * IN_A_TEST, (group + 1) * IN_A_TEST):
        check(seed, target)


def test_most_sequences_do_something() -> None:
    """A test of the test: primitives are applied, of every kind, and some are refused."""
    applied, refused = [], 0
    for seed in range(60):
        rng = random.Random(seed)
        schedule, count = random_schedule(rng, Schedule.of(*random_outputs(rng)), ATTEMPTS)
        applied += [step.name for step in schedule.trace]
        refused += count
    assert len(applied) > 60 * 4
    assert refused > 60
    assert len(set(applied)) >= 14
