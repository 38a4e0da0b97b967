"""The BusTimer: it expires when the bus was silent for as long as the limit says, and only then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Mux, Signal

from tandem.hw.registers import BUS_TIMEOUT_BITS
from tandem.hw.rtl.bus_timer import BusTimer
from tests.formal.harness import Harness, implies
from tests.formal.plants import anything, planted
from tests.formal.prover import breaks, prove, true_of_anything

SHORT = ("from tandem.hw.registers import BUS_TIMEOUT_BITS", "BUS_TIMEOUT_BITS = 3")
"""Limits that a run of a few cycles reaches."""


def timer_harness(timer: Any, bits: int = BUS_TIMEOUT_BITS) -> Harness:
    """Silent in any cycle; the limit changes where no silence is counted."""
    harness = Harness()
    harness.module.submodules.dut = dut = timer()
    harness.free(dut.limit, dut.silent)
    # Silent cycles in a row, up to the last one but one; and the limit of the first of them.
    length = Signal(bits + 1)
    limit = dut.limit
    last = harness.delayed(dut.silent)
    most = Signal(bits + 1)
    harness.comb(most.eq(1 << bits))
    harness.sync(length.eq(Mux(last, Mux(length == most, most, length + 1), 0)))
    harness.suppose(implies(last | (length != 0), limit == harness.delayed(limit)))
    too_long = (limit != 0) & (length >= limit)
    harness.must("expires_after_so_many", implies(too_long, dut.expired))
    harness.must("never_before", implies(dut.expired, too_long))
    count = harness.peek("dut.count", bits)
    counted = harness.peek("dut.counted", 1)
    silent = harness.peek("dut.silent", 1)
    harness.invariant("knows_the_last", silent == last)
    harness.invariant("knows_of_some", counted == ((length != 0) & (limit != 0)))
    harness.invariant("counts", implies(length != 0, count == Mux(length > limit, limit, length)))
    harness.invariant("begins_with_0", implies(length == 0, count == 0))
    harness.invariant("never_longer", length <= most)
    harness.reach("expired", dut.expired)
    harness.reach("goes_on", dut.expired & harness.delayed(dut.expired) & (limit == 3))
    harness.reach("moves_in_time", ~last & (length == limit - 1) & (limit == 3))
    harness.reach("no_limit", (limit == 0) & (length == 4))
    return harness


@pytest.mark.parametrize("bits", [3, BUS_TIMEOUT_BITS])
def test_every_run(bits: int, tmp_path: Path) -> None:
    timer = planted(BusTimer, SHORT) if bits == 3 else BusTimer
    prove(timer_harness(timer, bits), tmp_path, reach=9)


def test_each_property_says_something(tmp_path: Path) -> None:
    assert not true_of_anything(timer_harness(anything(BusTimer)), tmp_path, steps=6)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("was", "becomes", "broken"),
    [
        pytest.param(
            "counted.eq(silent & (counted | ~ends))",
            "counted.eq(silent)",
            "never_before",
            id="limit_of_0_expires",
        ),
        pytest.param(
            "self.expired.eq(counted & ends)",
            "self.expired.eq(ends)",
            "never_before",
            id="expired_from_the_start",
        ),
        pytest.param("count + ~ends", "count", "expires_after_so_many", id="does_not_count"),
        pytest.param(
            "with m.If(~silent):",
            "with m.If(~silent & ends):",
            "never_before",
            id="silences_are_added",
        ),
        pytest.param(
            "(counted | ~ends)",
            "~ends",
            "expires_after_so_many",
            id="expired_for_a_cycle",
        ),
    ],
)
def test_fault_is_found(was: str, becomes: str, broken: str, tmp_path: Path) -> None:
    harness = timer_harness(planted(BusTimer, SHORT, (was, becomes)), 3)
    assert breaks(harness, broken, tmp_path, steps=12)
