from __future__ import annotations

from tandem.compiler import te
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.stmt import LoopKind
from tandem.compiler.lower.lowering import lower
from tandem.compiler.lower.program_features import features
from tandem.compiler.te import Schedule, compute, placeholder, reduce_axis

MATMUL = (4, 6, 8)
"""Rows, columns, depth."""


def matmul() -> Schedule:
    rows, columns, depth = MATMUL
    a = placeholder((rows, depth), INT8, "a")
    b = placeholder((columns, depth), INT8, "b")
    k = reduce_axis(depth, "k")
    return Schedule.of(
        compute(
            (rows, columns),
            lambda i, j: te.sum(te.cast(a[i, k], INT32) * te.cast(b[j, k], INT32), (k,)),
            "c",
            ("i", "j"),
        )
    )


def test_a_matrix_product() -> None:
    rows, columns, depth = MATMUL
    schedule = matmul().split("c", "j", 2, ("jo", "ji")).decompose_reduction("c", "k")
    schedule = schedule.parallel("c", "i").unroll("c", "ji")
    start, product = features(lower(schedule.program))
    assert (start.iterations, start.operations) == (rows * columns, {})
    macs = rows * columns * depth
    assert product.iterations == macs
    assert product.operations == {"mul": macs, "add": macs, "cast": 2 * macs}
    assert product.iterations_of(LoopKind.PARALLEL) == rows
    assert product.iterations_of(LoopKind.UNROLLED) == 2
    assert product.iterations_of(LoopKind.VECTORIZED) == 1
    found = {(each.buffer.name, each.writes): each for each in product.accesses}
    assert {key: each.touched_bytes for key, each in found.items()} == {
        ("a", False): rows * depth,
        ("b", False): columns * depth,
        ("c", False): 4 * rows * columns,
        ("c", True): 4 * rows * columns,
    }
    assert found["a", False].reuse == columns
    assert {key: each.stride for key, each in found.items()} == {
        ("a", False): 1,
        ("b", False): 1,
        ("c", False): 0,
        ("c", True): 0,
    }
    touched = (rows + columns) * depth + 8 * rows * columns
    assert product.intensity == 4 * macs / touched
    # Two columns are written out, which share an element of `a`.
    assert {key: each.at_once for key, each in found.items()} == {
        ("a", False): 1,
        ("b", False): 2,
        ("c", False): 2,
        ("c", True): 2,
    }
    assert not any(each.in_lanes for each in product.accesses)


def test_elements_that_lanes_share() -> None:
    schedule = matmul().reorder("c", "k", "i", "j").vectorize("c", "j").unroll("c", "i")
    (*_, product) = features(lower(schedule.program))
    found = {each.buffer.name: (each.at_once, each.in_lanes) for each in product.accesses}
    rows, columns, _ = MATMUL
    assert found == {"a": (rows, False), "b": (columns, True), "c": (rows * columns, True)}


def test_windows_overlap_and_conditions_count() -> None:
    (nest,) = features(
        parse(
            """
func f(a: int8[10]) -> (b: int8[4, 3]):
  for i in 4:
    for k in 3:
      if i + k < 5:
        b[i, k] = a[2 * i + k]
"""
        )
    )
    read, written = nest.accesses
    assert (read.accesses, read.touched, read.stride) == (12, 9, 1)
    assert (written.writes, written.touched, written.stride) == (True, 12, 1)
    assert nest.conditions == 1


def test_elements_that_loops_pass_over_are_not_touched() -> None:
    (nest,) = features(
        parse(
            """
func f(a: int8[40]) -> (b: int8[4]):
  for i in 4:
    b[i] = a[10 * i]
"""
        )
    )
    assert [each.touched for each in nest.accesses] == [4, 4]
    assert nest.accesses[0].stride == 10
