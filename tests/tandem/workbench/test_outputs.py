"""Outputs of runs as JSON."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from tandem.workbench.outputs import output_json, top5


@pytest.mark.parametrize(
    ("array", "classes"),
    [
        (np.array([[1.0, 5.0, 3.0, 5.0, 0.0, 4.0, 2.0]]), [1, 3, 5, 2, 6]),
        (np.array([1, 9, 9]), [1, 2, 0]),
        (np.zeros(8), [0, 1, 2, 3, 4]),
        (np.zeros((2, 8)), None),
        (np.zeros((1, 8, 1)), None),
        (np.zeros((1, 0)), None),
        (np.zeros(()), None),
    ],
)
def test_top5(array: Any, classes: list[int] | None) -> None:
    assert top5(array) == classes


def test_json() -> None:
    array = np.arange(3, dtype=np.float32)
    assert output_json("y", array) == {
        "name": "y",
        "shape": [3],
        "sha256": hashlib.sha256(array.tobytes()).hexdigest(),
        "top5": [2, 1, 0],
    }
