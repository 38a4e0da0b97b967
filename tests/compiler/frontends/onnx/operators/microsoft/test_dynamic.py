"""Products whose scales are found when the network runs: what ONNX Runtime computes."""

from __future__ import annotations

import pytest

pytest.importorskip("onnxruntime", reason="what results are compared with")

from tests.support.compiler.frontends.fused_nodes import DYNAMIC
from tests.support.compiler.frontends.runtime_runs import drawn

SEEDS = 50


@pytest.mark.parametrize("name", DYNAMIC)
def test_one(name: str) -> None:
    drawn(DYNAMIC[name], range(3))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", DYNAMIC)
def test_many(name: str) -> None:
    drawn(DYNAMIC[name], range(SEEDS))
