"""Random sketches of random expressions: what fits is lowered, and results are NumPy's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from tandem.compiler.errors import CompilerError, Refusal
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.sketches.blocks import BlockedExpression, in_blocks
from tandem.compiler.machines.accelerator.sketches.kernel import ArrayKernel
from tandem.compiler.machines.accelerator.sketches.template import PRODUCT_SKETCHES, ProductCosts
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.plan.space import Choices, Space
from tandem.compiler.te import Tensor
from tandem.compiler.te.knobs import Choice
from tandem.runtime.launch import run_program
from tests.support.compiler.machines.accelerator.sketches.random_products import (
    drawn_product,
    drawn_values,
)
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.te.in_numpy import in_numpy

CONFIGS = ("tiny", "small8", "block4", "batch2", "extended")


@dataclass(frozen=True)
class Drawn:
    """A random expression on a machine."""

    output: Tensor
    blocked: BlockedExpression
    machine: AcceleratorTarget
    random: np.random.Generator

    def spaces(self) -> Iterator[Space]:
        """The spaces of both schedules."""
        computation = self.blocked.computation
        yield PRODUCT_SKETCHES.space(computation, self.machine)
        wide = PRODUCT_SKETCHES.wide_space(computation, self.machine)
        if wide is not None:
            yield wide

    def choices(self, count: int) -> Iterator[Choices]:
        """Random choices of both schedules, that fit or not."""
        for space in self.spaces():
            found = space.choices()
            for row in self.random.choice(len(found), count):
                yield found.where(np.array([row]))


def drawn(seed: int) -> Drawn:
    """The first expression of a seed that the machine computes."""
    random = np.random.default_rng(seed)
    target = AcceleratorTarget.of(machine(CONFIGS[seed % len(CONFIGS)]))
    while True:
        output = drawn_product(random)
        try:
            return Drawn(output, in_blocks(output, target), target, random)
        except Refusal:
            continue


def lowered(case: Drawn, choice: Choice) -> ArrayKernel | None:
    """The stream of a choice; None if it cannot be lowered."""
    try:
        computation = case.blocked.computation
        schedule = PRODUCT_SKETCHES.schedule(computation, choice, case.machine)
        return ArrayKernel.of(case.blocked, schedule, case.machine)
    except CompilerError:
        return None


def check(seed: int, engine: str, count: int) -> int:
    """Compare random sketches; the number of those that fit."""
    case = drawn(seed)
    computation = case.blocked.computation
    values = drawn_values(case.random, case.output)
    wanted, done = in_numpy(case.output, values), 0
    costs = ProductCosts(MachineCost(case.machine.config))
    for one in case.choices(count):
        choice = one.choice(0)
        (fits,) = PRODUCT_SKETCHES.fits(computation, one, case.machine)
        kernel = lowered(case, choice)
        assert fits == (kernel is not None), choice
        if kernel is None:
            continue
        program, image = kernel.stream.program, kernel.image(values)
        memory, result = run_program(program, image, engine=engine)
        np.testing.assert_array_equal(kernel.result(memory), wanted, err_msg=str(choice))
        if result.cycles is not None:
            (bound,) = costs.bounds(PRODUCT_SKETCHES, computation, one)
            assert bound <= result.cycles
        done += 1
    return done


@pytest.mark.parametrize("seed", range(10))
def test_few(seed: int) -> None:
    check(seed, "cycle", 1)


def test_some_fit() -> None:
    assert sum(check(seed, "functional", 1) for seed in range(10, 14)) > 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(420, 1420))
def test_many(seed: int) -> None:
    """2,000 sketches, of 1,000 expressions both schedules."""
    check(seed, "functional", 1)
