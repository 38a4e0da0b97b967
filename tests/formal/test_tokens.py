"""The TokenCounter: counts, never below zero, and overflows exactly when it is full."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Mux, Signal

from tandem.hw.rtl.tokens import TokenCounter
from tandem.hw.topology import TOKEN_BITS
from tests.formal.harness import Harness, implies
from tests.formal.plants import anything, planted
from tests.formal.prover import breaks, prove, true_of_anything

# Full is 65535 cycles from reset, too far to run to: a copy with few bits is full soon.
FEW_BITS = 3
NARROW = ("Signal(TOKEN_BITS)", f"Signal({FEW_BITS})")


def token_harness(counter: Any, bits: int) -> Harness:
    """Pushes at any time, pops only while there is a token."""
    harness = Harness()
    harness.module.submodules.dut = dut = counter()
    harness.free(dut.push, dut.pop)
    most = (1 << bits) - 1
    # Wide enough to be above full, or below zero and thus huge.
    count = Signal(bits + 2)
    lost = (count == most) & dut.push & ~dut.pop
    harness.suppose(implies(dut.pop, dut.available))
    harness.sync(count.eq(Mux(lost, count, count + dut.push - dut.pop)))

    harness.must("available_when_there_is_one", dut.available == (count != 0))
    harness.must("overflow_exactly_when_full", dut.overflow == lost)
    harness.must("never_below_zero_nor_above_full", count <= most)
    harness.invariant("counts", harness.peek("dut.count", bits) == count)
    harness.invariant("knows_when_it_is_full", harness.peek("dut.full", 1) == (count == most))

    harness.reach("empty_again", harness.delayed(dut.pop & dut.available) & ~dut.available)
    harness.reach("push_meets_pop", dut.push & dut.pop)
    if bits == FEW_BITS:
        harness.reach("overflow", dut.overflow)
        harness.reach("full_but_one_leaves", (count == most) & dut.push & dut.pop)
    return harness


def test_every_run(tmp_path: Path) -> None:
    assert TOKEN_BITS == 16
    prove(token_harness(TokenCounter, TOKEN_BITS), tmp_path, reach=6)


def test_every_run_of_few_bits(tmp_path: Path) -> None:
    prove(token_harness(planted(TokenCounter, NARROW), FEW_BITS), tmp_path, reach=12)


def test_each_property_says_something(tmp_path: Path) -> None:
    assert not true_of_anything(token_harness(anything(TokenCounter), FEW_BITS), tmp_path, steps=9)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("was", "becomes", "broken"),
    [
        pytest.param(
            "self.pop & full)",
            "self.pop & 0)",
            "overflow_exactly_when_full",
            id="overflow_not_told",
        ),
        pytest.param(
            "full.eq(count[1:].all())",
            "full.eq(count[2:].all())",
            "overflow_exactly_when_full",
            id="full_one_too_early",
        ),
        pytest.param(
            "push & ~self.pop & full)\n        with",
            "push & full)\n        with",
            "overflow_exactly_when_full",
            id="overflow_though_a_pop_makes_room",
        ),
        pytest.param(
            "full.eq(0)",
            "full.eq(full)",
            "overflow_exactly_when_full",
            id="full_for_ever",
        ),
        pytest.param(
            "self.available.eq(count != 1)",
            "self.available.eq(count != 0)",
            "available_when_there_is_one",
            id="last_token_stays",
        ),
        pytest.param(
            "self.pop & ~self.push)",
            "self.pop)",
            "available_when_there_is_one",
            id="push_and_pop_lose_a_token",
        ),
        pytest.param(
            "count.eq(count + 1)",
            "count.eq(count + 2)",
            "available_when_there_is_one",
            id="counts_two_for_one",
        ),
    ],
)
def test_fault_is_found(was: str, becomes: str, broken: str, tmp_path: Path) -> None:
    harness = token_harness(planted(TokenCounter, NARROW, (was, becomes)), FEW_BITS)
    assert breaks(harness, broken, tmp_path, steps=12)
