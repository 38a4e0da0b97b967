"""The gates of custom operations give what their terms say, in the stage in which they should."""

from __future__ import annotations

import random

import pytest
from amaranth.hdl import Module, Signal

from tandem.hw.alu_terms import GREATEST, LEAST
from tandem.hw.custom_operations import PARAMETER_BITS
from tandem.hw.custom_stages import stage_terms
from tandem.hw.rtl.custom_units import CustomUnits
from tests.support.hw.custom_operations import (
    MORE,
    OPERATIONS,
    SATURATING,
    Described,
    machine,
)
from tests.support.hw.rtl.rtl import Context, simulate

NUMBERS = (LEAST, LEAST + 1, -129, -128, -1, 0, 1, 127, 128, 0xFFFF, GREATEST)


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "operations", [OPERATIONS, MORE, SATURATING], ids=["first", "more", "saturating"]
)
def test_results(operations: Described, stages: int) -> None:
    """A micro-op enters in each cycle; its result is there `stages` - 1 cycles later."""
    config = machine(operations, stages)
    rng = random.Random(stages)
    cases = []
    for _ in range(600):
        number, operation = rng.choice([*config.custom_operations.items()])
        a, b = (rng.choice((*NUMBERS, rng.randint(LEAST, GREATEST))) for _ in range(2))
        values = {
            parameter.name: rng.choice((*parameter.limits, rng.randint(*parameter.limits)))
            for parameter in operation.parameters
        }
        immediate = operation.immediate(values) if values else 0
        cases.append((number, a, b, immediate, operation.apply(a, b, immediate)))
    m = Module()
    m.submodules.units = units = CustomUnits(config)
    # One stage is combinational: the clock is of this register.
    m.d.sync += Signal().eq(1)

    async def bench(ctx: Context) -> None:
        for cycle in range(len(cases) + stages - 1):
            enters = cases[min(cycle, len(cases) - 1)]
            ctx.set(units.a, enters[1])
            ctx.set(units.b, enters[2])
            packed = 0
            for stage in range(stages):
                if 0 <= cycle - stage < len(cases):
                    packed |= (cases[cycle - stage][3] & 0xFFFF) << PARAMETER_BITS * stage
            ctx.set(units.control.imm, packed)
            leaves = cycle - stages + 1
            if leaves >= 0:
                number, a, b, immediate, result = cases[leaves]
                position = sorted(config.custom_operations).index(number)
                assert ctx.get(units.results[position]) == result, (number, a, b, immediate)
            await ctx.tick()

    simulate(m, bench)


def test_more_stages_are_never_slower() -> None:
    found = []
    for stages in (1, 2, 3, 4):
        config = machine(OPERATIONS, stages)
        terms = stage_terms(config.custom_operations, stages)
        assert {*terms.stages.values()} <= {*range(1, stages + 1)}
        found.append(terms.slowest)
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("min(max(a, low), 127)", 2),
        ("min(max(a, low), 126)", 3),
        ("min(int7(a), 63)", 1),
        ("max(64, int7(a) + low)", 3),
        ("max(int7(a), 64)", 0),
        ("min(min(a, 5), uint8(b) + 5)", 1),
    ],
)
def test_extremes_that_are_one_side_have_no_gates(result: str, expected: int) -> None:
    """Of a clip to int8: the nearest byte, and the greater of it and the limit."""
    parameters = {"low": "int8"} if "low" in result else {}
    terms = stage_terms(machine((("OWN", result, parameters),), 2).custom_operations, 2)
    assert len(terms.stages) == expected


def test_equal_terms_are_one() -> None:
    operations: Described = (
        ("ONE", "min(a + b, 5)", {}),
        ("TWO", "max(a + b, s)", {"s": "int4"}),
        ("THREE", "max(a + b, t) - 1", {"t": "int4"}),
    )
    config = machine(operations, 2)
    terms = stage_terms(config.custom_operations, 2)
    # The sum once; min, max and the difference.
    assert len(terms.stages) == 4
