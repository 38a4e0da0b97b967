"""Labels: they fit the program, or are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tandem.sim.errors import EngineError
from tests.support.sim.timelines import traced_run

LABELS = traced_run().labels


def test_names() -> None:
    assert [LABELS.layer(at) for at in (0, 3, 5)] == ["first", "second", None]


def test_none_are_needed() -> None:
    replace(LABELS, layers=(), macs=(), layer_of=np.full(6, -1)).check(6)
    LABELS.check(6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layer_of": np.zeros(7, np.int32)}, "labels of 7 and places of 6 instructions: .* 6"),
        ({"places": ("",) * 5}, "labels of 6 and places of 5 instructions"),
        ({"macs": (1,)}, "2 layers with the work of 1"),
        ({"layer_of": np.array([0, 0, 0, 0, 0, 2])}, "an instruction of layer 2: there are 2"),
        ({"layer_of": np.array([0, 0, -2, 0, 0, 0])}, "an instruction of layer -2: there are 2"),
    ],
)
def test_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(EngineError, match=message):
        replace(LABELS, **changes).check(6)  # type: ignore[arg-type]
