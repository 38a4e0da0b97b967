"""Sums of dense layers leave whole."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import Refusal
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates.dense_wide import WideDenseOnArray
from tandem.compiler.machines.accelerator.templates.products import Products
from tandem.compiler.plan.planner import best_choice
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.random_operators import random_tests
from tests.support.compiler.machines.accelerator.templates.random_workloads import (
    check_of,
    draw_dense_wide,
)
from tests.support.compiler.machines.accelerator.templates.streams import run_stream

test_few, test_many, test_few_on_rtl, test_many_on_rtl = random_tests(
    check_of(draw_dense_wide), few=8
)


def test_planes_are_the_bytes_of_sums() -> None:
    config = machine("small8")
    drawn = draw_dense_wide(np.random.default_rng(4), config)
    choice = drawn.fitting(np.random.default_rng(5), config, 2)
    assert choice is not None
    outputs, _ = run_stream(drawn.stream(choice, config), drawn.values)
    planes = outputs["out"].astype(np.int64) & 0xFF
    sums = sum(planes[plane] << (8 * plane) for plane in range(4))
    data, weight = (drawn.values[name].astype(np.int64) for name in ("data", "weight"))
    product = np.einsum("niyxbk,oiyxlk->nobl", data, weight)
    np.testing.assert_array_equal(np.asarray(sums).astype(np.uint32).astype(np.int32), product)


def test_refuses_what_does_not_fit() -> None:
    """4 amounts, a sum and its 4 planes are 9 accumulators."""
    small = machine("tiny").replace(log_acc_buffer=6)
    products = Products(1, 8, 1, batch=1, lanes=4, depth=4)
    with pytest.raises(Refusal, match=r"ACC has 4 elements and they take 9, for which .* be 8$"):
        best_choice(accelerator(small), WideDenseOnArray(), products)
