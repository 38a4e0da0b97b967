"""Runs compared bit for bit: what counts, and which difference is told."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.runtime.artifact import Arena, Artifact, Input, Output, PaddedAxis, Tensor
from tandem.runtime.executor import Run
from tandem.runtime.profile import Profile
from tandem.workbench.device_comparison import Comparison, boundaries, compare
from tests.support.runtime.plain_artifacts import plain_artifact, plain_step

Arrays = dict[str, NDArray[Any]]


def artifact() -> Artifact:
    """Two steps of an accelerator between steps of the CPU; `b` has blocks of 2 for 3 elements."""
    padded = (PaddedAxis(3, 0, 1),)
    tensors = [
        Tensor("x", (4,), "float32", Input()),
        Tensor("a", (2, 2), "int8", Arena(0)),
        Tensor("b", (2, 2), "int8", Arena(64), padded=padded),
        Tensor("c", (2, 2), "int8", Arena(128)),
        Tensor("y", (4,), "float32", Output()),
    ]
    steps = [
        plain_step("pack", ["x"], ["a"]),
        plain_step("first", ["a"], ["b"], "accelerator"),
        plain_step("second", ["b"], ["c"], "accelerator"),
        plain_step("unpack", ["c"], ["y"]),
    ]
    return plain_artifact(tensors, steps, ["x"], ["y"], arena_bytes=192)


def run(y: list[float], **watched: Any) -> Run:
    arrays = {name: np.array(array, np.int8) for name, array in watched.items()}
    return Run({"y": np.array(y, np.float32)}, Profile((), 0.0), arrays)


def test_what_passes_between_devices() -> None:
    assert boundaries(artifact()) == ("a", "b", "c")


def test_equal_runs() -> None:
    one = run([1, math.nan, 3, 4], a=[[1, 2], [3, 4]])
    found = compare(one, run([1, math.nan, 3, 4], a=[[1, 2], [3, 4]]), artifact())
    assert found == Comparison(2, 8, 0, 0.0, "")
    assert found.equal
    assert found.as_json() == {
        "reference": "cpu",
        "equal": True,
        "mismatches": 0,
        "max_abs_diff": 0.0,
        "first": None,
    }


def test_differences() -> None:
    one = run([1, 2, 3, 4], a=[[1, 2], [3, 4]])
    other = run([1, 2.5, 3, 1], a=[[1, 2], [0, 5]])
    found = compare(one, other, artifact())
    # 3 - 0 and 4 - 5 of `a`; 2 - 2.5 and 4 - 1 of `y`.
    assert (found.tensors, found.elements, found.mismatches, found.largest) == (2, 8, 4, 3.0)
    assert found.first == "a[1, 0] is 3 and has to be 0"
    assert not found.equal
    assert found.as_json()["max_abs_diff"] == 3.0


def test_signs_of_zeros_differ_by_nothing() -> None:
    found = compare(run([0, 0, 0, 0]), run([0, 0, 0, -0.0]), artifact())
    assert (found.mismatches, found.largest) == (1, 0.0)
    assert found.first == "y[3] is 0.0 and has to be -0.0"


def test_padding_does_not_count() -> None:
    one, other = run([0] * 4, b=[[1, 2], [3, 4]]), run([0] * 4, b=[[1, 2], [3, 9]])
    assert compare(one, other, artifact()) == Comparison(2, 7, 0, 0.0, "")
    wrong = compare(one, run([0] * 4, b=[[1, 7], [3, 99]]), artifact())
    assert (wrong.elements, wrong.mismatches, wrong.largest) == (7, 1, 5.0)
    # Of joined runs, an axis more is in front.
    twice = run([0] * 4, b=[[[1, 2], [3, 4]], [[1, 2], [3, 4]]])
    other = run([0] * 4, b=[[[1, 2], [3, 0]], [[1, 2], [0, 0]]])
    wrong = compare(twice, other, artifact())
    assert (wrong.elements, wrong.mismatches) == (10, 1)
    assert wrong.first == "b[1, 1, 0] is 3 and has to be 0"


@pytest.mark.parametrize(("ours", "theirs"), [(2, 0), (0, 2)])
def test_tensors_of_other_shapes_differ_by_all_they_have(ours: int, theirs: int) -> None:
    watched = {"a": [[1, 2], [3, 4]]}
    one = run([0, 0, 0, 5], **(watched if ours else {}))
    other = run([0, 0, 0, 4], **(watched if theirs else {}))
    found = compare(one, other, artifact())
    # The reference's elements count, the larger array's differ.
    assert (found.elements, found.mismatches) == (4 + 2 * theirs, 4 + 1)
    assert found.largest == math.inf
    shapes = {2: "[2, 2]", 0: "[0]"}
    assert found.first == f"a is {shapes[ours]} and has to be {shapes[theirs]}"
    assert found.as_json()["max_abs_diff"] is None


def test_infinite_values_that_are_equal_have_no_distance() -> None:
    found = compare(run([math.inf, 1, 1, 1]), run([math.inf, 1, 1, 2]), artifact())
    assert (found.mismatches, found.largest) == (1, 1.0)
