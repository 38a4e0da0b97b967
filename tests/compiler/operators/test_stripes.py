"""Reductions in stripes: their order is part of the operator's meaning."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.ir.interpreter import run
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tandem.compiler.machines.cpu.schedules.generic import cpu_schedule
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.operators.reduce import arg_max, reduce_max, reduce_prod, reduce_sum
from tandem.compiler.operators.stripes import STRIPES
from tandem.compiler.te import Tensor, placeholder
from tandem.compiler.te.build import program_of, stages

HALVES = ("r_8", "r_4", "r_2")


def in_stripes(row: NDArray[np.float32]) -> np.float32:
    """The sum of a row as the operator defines it, one addition after the other."""
    whole = len(row) // STRIPES * STRIPES
    stripes = np.zeros(STRIPES, np.float32)
    for part in row[:whole].reshape(-1, STRIPES):
        stripes += part
    while len(stripes) > 1:
        stripes = stripes[: len(stripes) // 2] + stripes[len(stripes) // 2 :]
    rest = np.float32(0)
    for value in row[whole:]:
        rest += value
    return np.float32(stripes[0] + rest)


@pytest.mark.parametrize("count", [32, 100, 769])
@pytest.mark.parametrize("missing", [(), ("avx512f",), ("avx",), ("sse4.1",)])
def test_all_processors_add_in_the_same_order(count: int, missing: tuple[str, ...]) -> None:
    x = placeholder((5, count), FLOAT32, "x")
    data = np.random.default_rng(count).standard_normal((5, count)).astype(np.float32)
    wanted = [[in_stripes(row)] for row in data]
    sums = reduce_sum(x, [1])
    target = CpuTarget.host(threads=1).without(*missing)
    (found,) = compile_function(cpu_schedule(sums, simd=Simd.of(target)).program, target)(data)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(run(program_of([sums]), [data])[0], wanted)


@pytest.mark.parametrize(
    ("tensor", "found"),
    [
        (lambda x: reduce_sum(x, [1], name="r"), ["x", "r"]),
        (lambda x: reduce_sum(x, [0, 2], name="r"), ["x", "r_stripes", *HALVES, "r"]),
        (lambda x: reduce_prod(x, [2], name="r"), ["x", "r_stripes", *HALVES, "r"]),
        (lambda x: reduce_sum(x, name="r"), ["x", "r_stripes", *HALVES, "r"]),
        (
            lambda x: arg_max(x, 2, name="r"),
            ["x", "r_max_stripes", "r_max_8", "r_max_4", "r_max_2", "r_max", "r"],
        ),
    ],
)
def test_long_rows_of_floats_have_stripes(tensor: object, found: list[str]) -> None:
    """Rows along the last axis, whatever is reduced besides; not numbers of an index."""
    assert callable(tensor)
    result: Tensor = tensor(placeholder((2, 33, 48), FLOAT32, "x"))
    assert [stage.name for stage in stages([result])] == found


def test_what_is_left_of_a_row_comes_last() -> None:
    result = reduce_max(placeholder((2, 50), FLOAT32, "x"), [1], name="r")
    names = [stage.name for stage in stages([result])]
    assert (names[0], names[-1]) == ("x", "r")
    assert {*names[1:-1]} == {"r_stripes", *HALVES, "r_whole", "r_rest"}
