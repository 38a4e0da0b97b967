"""Workloads as plain data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import RecordError
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.epilogue import AluPass, OperandKind
from tandem.compiler.machines.accelerator.templates.parameter_passes import RequantisePass
from tandem.compiler.tune.plain import canonical, from_plain, to_plain
from tandem.hw.operations import AluOp


class Colour(Enum):
    RED = "r"
    BLUE = "b"


@dataclass(frozen=True)
class Leaf:
    size: int
    colour: Colour


@dataclass(frozen=True)
class Other:
    name: str | None


@dataclass(frozen=True)
class Tree:
    leaves: tuple[Leaf | Other, ...]
    pair: tuple[int, bool]
    ratio: float = 1.5


LEAVES = st.builds(Leaf, st.integers(), st.sampled_from(Colour)) | st.builds(
    Other, st.none() | st.text()
)
TREES = st.builds(
    Tree,
    st.lists(LEAVES).map(tuple),
    st.tuples(st.integers(), st.booleans()),
    st.floats(allow_nan=False, allow_infinity=False),
)


@given(TREES)
def test_what_is_written_is_read_back(tree: Tree) -> None:
    assert from_plain(Tree, json.loads(json.dumps(to_plain(tree)))) == tree


@given(TREES, TREES)
def test_texts_are_equal_for_equal_values_only(one: Tree, other: Tree) -> None:
    assert (canonical(one) == canonical(other)) == (one == other)


def test_a_convolution() -> None:
    workload = Conv2dWorkload(
        (1, 4, 8, 8, 1, 16),
        (4, 4, 3, 3, 16, 16),
        (1, 1),
        (1, 1, 1, 1),
        (1, 1),
        1,
        (AluPass(AluOp.ADD, "bias", OperandKind.CHANNEL), RequantisePass()),
    )
    assert from_plain(Conv2dWorkload, json.loads(canonical(workload))) == workload


GOOD = to_plain(Tree((Leaf(1, Colour.RED), Other("x")), (2, True)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pair": [1]}, r"\[1\] has 1 entries, not 2"),
        ({"pair": 3}, "3 is no list"),
        ({"pair": [1, 1]}, "1 is no bool"),
        ({"ratio": 1}, "1 is no float"),
        ({"ratio": True}, "true is no float"),
        ({"leaves": [{"is": "Leaf", "size": 1, "colour": "GREEN"}]}, "none of Leaf, Other"),
        ({"leaves": [{"is": "Leaf", "size": 1}]}, "none of Leaf, Other"),
        ({"leaves": [7]}, "7 is none of Leaf, Other"),
        ({"is": "Bush"}, "is no Tree"),
        ({"more": 1}, "a Tree has leaves, pair, ratio, not is, leaves, more, pair, ratio"),
    ],
)
def test_what_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(RecordError, match=message):
        from_plain(Tree, {**GOOD, **change})


def test_values_without_a_plain_form() -> None:
    with pytest.raises(RecordError, match="a complex cannot be written into a record"):
        to_plain((1, 2j))
