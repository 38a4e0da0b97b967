"""Boxes that are known at import, and boxes that are not, are selected as ONNX's reference does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph.evaluate import evaluate
from tests.support.compiler.frontends.onnx_models import Array, model


def boxes_and_scores(seed: int, centred: bool) -> dict[str, Array]:
    """Boxes of which many overlap, by corners in any order or by centres, and their scores."""
    random = np.random.default_rng(seed)
    places, sizes = random.uniform(0, 2, (2, 8, 2)), random.uniform(1, 3, (2, 8, 2))
    first, second = (places, sizes) if centred else (places + sizes, places - sizes)
    boxes = np.concatenate([first, second], -1).astype(np.float32)
    return {"b": boxes, "s": random.uniform(0, 1, (2, 3, 8)).astype(np.float32)}


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("centred", [False, True])
def test_selection(known: bool, centred: bool) -> None:
    node = helper.make_node(
        "NonMaxSuppression", ["b", "s", "n", "o", "l"], ["y"], center_point_box=int(centred)
    )
    limits: dict[str, Array] = {
        "n": np.array([4]),
        "o": np.array([0.3], np.float32),
        "l": np.array([0.2], np.float32),
    }
    for seed in range(4):
        given = boxes_and_scores(seed, centred)
        weights = limits | given if known else limits
        inputs: dict[str, Any] = {"b": (2, 8, 4), "s": (2, 3, 8)}
        made = model([node], {"x": (1,)} if known else inputs, ["y"], weights)
        feeds = {"x": np.zeros(1, np.float32)} if known else given
        (wanted,) = ReferenceEvaluator(made).run(None, feeds)
        imported = import_model(made)
        arguments = [feeds[name] for name in imported.inputs]
        found = imported.by_name(evaluate(imported.function, arguments))["y"]
        assert 6 <= len(wanted) < 24
        np.testing.assert_array_equal(found, wanted)
