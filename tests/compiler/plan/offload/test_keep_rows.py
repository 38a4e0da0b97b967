"""Inputs of rows lie as streams read them, or stay as they are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.graph import Function
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.verify import verify
from tandem.compiler.plan.offload import KeepRows
from tandem.runtime.row_writer import RowWriter
from tests.support.compiler.plan.kept_rows import STEP, as_rows, code_of, keys, values


def kept(function: Function) -> Function:
    found = KeepRows(("past",)).apply(function)
    verify(found)
    return found


def test_the_text(golden: Callable[[str, str], None]) -> None:
    golden("graph/keep_rows.txt", f"{text(kept(keys()))}\n{text(kept(values()))}")


SIZES = {"heads": st.integers(1, 3), "rows": st.integers(1, 20), "new": st.integers(1, 5)}


def same(function: Function, seed: int) -> None:
    """A function says the same of rows in real numbers, and of rows where it keeps them."""
    random = np.random.default_rng(seed)
    past, new = ([*param.type.static_shape("")] for param in function.params)  # type: ignore[union-attr]
    old = random.standard_normal(past).astype(np.float32)
    rows = random.integers(-128, 128, new, dtype=np.int8)
    found = kept(function)
    code = code_of(found)
    rounded = np.clip(np.rint(old / np.float32(STEP)), -128, 127).astype(np.int8)
    memory = np.zeros(code.shape, np.int8)
    # In any parts, and in any order.
    for row in random.permutation(past[2]):
        RowWriter(code).put(memory, as_rows(rounded)[row : row + 1], int(row))
    before = memory.copy()
    RowWriter(code).put(memory, as_rows(rows))
    wanted = evaluate(function, [old, rows])
    np.testing.assert_array_equal(evaluate(found, [before, rows]), wanted)
    np.testing.assert_array_equal(evaluate(found, [memory, rows]), wanted)


@given(**SIZES, features=st.sampled_from([4, 8]), groups=st.integers(1, 3), seed=st.integers(0, 99))
def test_keys(heads: int, rows: int, new: int, features: int, groups: int, seed: int) -> None:
    same(keys(heads, rows, new, features, groups=groups), seed)


@given(**SIZES, features=st.sampled_from([4, 8]), seed=st.integers(0, 99))
def test_values(heads: int, rows: int, new: int, features: int, seed: int) -> None:
    same(values(heads, rows, new, features), seed)


@pytest.mark.parametrize(
    "function",
    [
        # A stream reads it, and the host does.
        keys(extra="  sums = reduce_sum(past, axes=[2])\n", also="sums"),
        keys(extra="  real = dequantise(whole, float32[](0.5), int8[](0))\n", also="real"),
        keys(
            extra="  plain = convert(keys, shape=[1, 2, 4, 8], source={0, 1, 2/4, 3, _, 2%4})\n",
            also="plain",
        ),
        # Its rows are no even steps apart: features leave a block half empty.
        keys(features=6),
        # Rows of heads that lie in blocks of three.
        keys(heads=4, block_of_heads=3),
    ],
    ids=["input", "rows", "operand", "features", "heads"],
)
def test_what_stays(function: Function) -> None:
    assert kept(function) == function


def test_an_input_that_no_stream_reads_stays() -> None:
    function = keys()
    assert KeepRows(("new",)).apply(function) == function
