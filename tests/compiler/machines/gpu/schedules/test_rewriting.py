"""Tensor expressions with other stages in the place of some: the same values, by NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.ir import interpreter
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.dtypes import INT32
from tandem.compiler.ir.expr import Var
from tandem.compiler.machines.gpu.schedules.rewriting import (
    computed,
    digits,
    new_name,
    plain,
    rewritten,
)
from tandem.compiler.te import Tensor, cast, compute, placeholder, reduce_axis, sum
from tandem.compiler.te.build import program_of, stages
from tandem.compiler.te.tensor import Compute

DATA = np.arange(12, dtype=np.int32).reshape(3, 4) * 7 % 5


def network() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Data, twice the data, and two results of that: sums of rows, and itself plus one."""
    a, k = placeholder((3, 4), INT32, "a"), reduce_axis(4, "k")
    twice = compute((3, 4), lambda i, j: a[i, j] * 2, "twice")
    rows = compute((3,), lambda i: sum(twice[i, k], k), "rows")
    more = compute((3, 4), lambda i, j: twice[i, j] + 1, "more")
    return a, twice, rows, more


def run(*outputs: Tensor) -> list[NDArray[np.int32]]:
    return [np.asarray(each) for each in interpreter.run(program_of(outputs), [DATA])]


def test_nothing_is_changed() -> None:
    _, _, rows, more = network()
    seen = []

    def leave(tensor: Tensor, source: Compute, taken: set[str]) -> None:
        assert source is tensor.source
        seen.append((tensor.name, {*taken}))

    one, other = rewritten((rows, more), leave)
    assert one is rows
    assert other is more
    assert sorted(name for name, _ in seen) == ["more", "rows", "twice"]
    assert all(taken == {"a", "twice", "rows", "more"} for _, taken in seen)


def test_a_stage_is_changed() -> None:
    """Those that read it read what stands in its place."""
    a, twice, rows, more = network()
    names: list[set[str]] = []

    def change(tensor: Tensor, source: Compute, taken: set[str]) -> Tensor | None:
        names.append({*taken})
        if tensor.name == "rows":
            # It is on the new stage already.
            assert [each.name for each in stages([computed(tensor, source)])][:2] == ["a", "copy"]
        if tensor is not twice:
            return None
        copy = compute((3, 4), lambda i, j: a[i, j] + 3, "copy")
        taken.add("copy")
        return compute((3, 4), lambda i, j: copy[i, j] * 2, "twice")

    one, other = rewritten((rows, more), change)
    assert (one.name, one.shape, one.dtype) == ("rows", (3,), INT32)
    assert [each.name for each in stages([one])] == ["a", "copy", "twice", "rows"]
    assert names[-1] == {"a", "twice", "rows", "more", "copy"}
    found = run(one, other)
    np.testing.assert_array_equal(found[0], (2 * (DATA + 3)).sum(1))
    np.testing.assert_array_equal(found[1], 2 * (DATA + 3) + 1)


def test_a_result_is_changed() -> None:
    _, twice, rows, more = network()

    def change(tensor: Tensor, source: Compute, taken: set[str]) -> Tensor | None:
        if tensor is not more:
            return None
        return compute((3, 4), lambda i, j: twice[i, j] - 1, "more")

    one, other = rewritten((rows, more), change)
    assert one is rows
    np.testing.assert_array_equal(run(one, other)[1], 2 * DATA - 1)


def test_a_tensor_that_is_computed_in_another_way() -> None:
    a, twice, _, _ = network()
    other = compute((3, 4), lambda i, j: a[i, j] - 5, "other")
    assert other.source is not None
    local = Tensor("twice", (3, 4), INT32, Scope.LOCAL, source=twice.source)
    found = computed(local, other.source)
    assert (found.name, found.shape, found.dtype) == ("twice", (3, 4), INT32)
    assert (found.scope, found.source) == (Scope.LOCAL, other.source)


def test_names_that_nobody_has() -> None:
    _, twice, _, _ = network()
    assert new_name(twice, "part", set()) == "twice_part"
    assert new_name(twice, "part", {"twice_part"}) == "twice_part_"
    assert new_name(twice, "part", {"twice_part", "twice_part_"}) == "twice_part__"


def test_variables_in_place_of_reduction_axes() -> None:
    a, k = placeholder((3, 4), INT32, "a"), reduce_axis(4, "k")
    found = plain(a[1, k] * 2)
    assert found == a[1, Var("k")] * 2
    assert found != a[1, k] * 2
    unchanged = a[1, Var("i")]
    assert plain(unchanged) is unchanged


@pytest.mark.parametrize("axes", [[("x", 2), ("y", 3), ("z", 4)], [("x", 5)], [("y", 3), ("x", 4)]])
def test_digits_of_numbers(axes: list[tuple[str, int]]) -> None:
    """Those of NumPy; the first axis has what is left of a number that counts beyond them."""
    shape = tuple(extent for _, extent in axes)
    size = int(np.prod(shape))

    def counted(name: str, size: int) -> Tensor:
        return compute((size,), lambda n: cast(digits(n, axes)[name], INT32), f"d_{name}")

    tensors = [counted(name, size) for name, _ in axes]
    found = interpreter.run(program_of(tensors), [])
    for one, wanted in zip(found, np.unravel_index(np.arange(size), shape), strict=True):
        np.testing.assert_array_equal(one, wanted)
    (beyond,) = interpreter.run(program_of([counted(axes[0][0], 2 * size)]), [])
    np.testing.assert_array_equal(beyond, np.arange(2 * size) // (size // shape[0]))
