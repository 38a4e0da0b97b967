"""The table of both schedules, the default, and what is proposed first."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import Refusal
from tandem.compiler.machines.accelerator.sketches.blocks import in_blocks
from tandem.compiler.machines.accelerator.sketches.schedules import PART
from tandem.compiler.machines.accelerator.sketches.search import (
    JoinedCandidates,
    SketchSearch,
    sketch_candidates,
    sketch_search,
    sketch_target,
    sketch_task,
)
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.tune.sketches.computation import Computation
from tests.compiler.machines.accelerator.sketches.test_blocks import einsum
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine

TARGET = sketch_target(accelerator(machine("tiny")))


def computation() -> Computation:
    """Of a product of 1x1."""
    return in_blocks(einsum(8, 24, 20), TARGET.machine).computation


def test_rows_and_choices() -> None:
    candidates = sketch_candidates(TARGET, computation())
    assert [PART in part.choices.columns for part in candidates.parts] == [False, True]
    assert len(candidates.features) == len(candidates.estimates) == len(candidates)
    for row in (0, len(candidates.parts[0]), len(candidates) - 1):
        assert candidates.row(candidates.choice(row)) == row
    assert candidates.row({"threads": 1}) is None
    assert (candidates.bounds <= candidates.estimates).all()


def test_the_default_has_the_lowest_estimate() -> None:
    task = sketch_task(TARGET, ["y"], computation())
    table, search = sketch_search(task, seed=0)
    assert isinstance(table, JoinedCandidates)
    assert isinstance(search, SketchSearch)
    row = table.row(task.default)
    assert row == int(np.argmin(table.estimates))
    assert row in search.propose(8)


def test_refuses_what_does_not_fit() -> None:
    small = machine("tiny").replace(log_uop_buffer=3)
    target = sketch_target(accelerator(small))
    with pytest.raises(Refusal, match="too small for the micro-ops of any tile"):
        sketch_candidates(target, computation())
