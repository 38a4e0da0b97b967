"""Reductions in partial results: where, and of how many terms."""

from __future__ import annotations

import pytest

from tandem.compiler.ir.dtypes import FLOAT32, INT32, DType
from tandem.compiler.te import compute, placeholder, reduce_axis, sum
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.sketches.partial_sums import factor_terms
from tandem.compiler.tune.sketches.rules import SketchRules
from tests.support.compiler.te.schedules import relu_of_sum
from tests.support.compiler.tune.sketches import built


def start(extent: int, dtype: DType = INT32, *, turned: bool = False) -> Schedule:
    a = placeholder((extent, 2) if turned else (2, extent), dtype, "a")
    k = reduce_axis(extent, "k")
    rows = compute((2,), lambda i: sum(a[k, i] if turned else a[i, k], k), "s")
    return Schedule.of(rows)


@pytest.mark.parametrize(
    ("extent", "options"),
    [
        # Vectors of 4 lanes, each of at least 4 terms.
        (15, None),
        (16, [0, 4]),
        (31, [0, 4]),
        (32, [0, 4, 8]),
        (64, [0, 4, 8, 16]),
        (1000, [0, 4, 8, 16]),
    ],
)
def test_options(extent: int, options: list[int] | None) -> None:
    builder, asked = built(start(extent))
    before = builder.schedule
    factor_terms(builder, "s")
    assert asked.get("s0.partial") == options
    assert builder.schedule is before
    assert builder.partial == set()


def test_the_new_stage() -> None:
    builder, _ = built(start(64), s0__partial=8)
    factor_terms(builder, "s")
    assert builder.schedule == start(64).rfactor("s", "k", 8, "s_partial")
    assert builder.partial == {"s_partial"}
    assert builder.labels["s_partial"] == "s0.partial"
    # It has none itself.
    before = builder.schedule
    factor_terms(builder, "s_partial")
    assert builder.schedule is before


def test_orders_that_are_not_free() -> None:
    builder, asked = built(start(64, FLOAT32))
    factor_terms(builder, "s")
    assert asked == {}
    free = SketchRules(128, 16, reassociate=True)
    builder, asked = built(start(64, FLOAT32), free, s0__partial=4)
    factor_terms(builder, "s")
    assert asked == {"s0.partial": [0, 4, 8, 16]}
    assert builder.partial == {"s_partial"}


def test_terms_that_are_not_contiguous_and_no_reduction() -> None:
    builder, asked = built(start(64, turned=True))
    factor_terms(builder, "s")
    plain, others = built(Schedule.of(relu_of_sum()))
    factor_terms(plain, "total")
    assert (asked, others) == ({}, {})


def test_wide_types() -> None:
    builder, asked = built(start(64), SketchRules(512, 32))
    factor_terms(builder, "s")
    assert asked == {"s0.partial": [0, 16]}
