"""The twelve networks: valid models of small sizes."""

from __future__ import annotations

import onnx
import pytest

from tandem.scripts.bench.small.kinds import KINDS

_MOST_BYTES = 3 << 20


@pytest.mark.parametrize("name", KINDS)
def test_a_network_is_a_valid_small_model(name: str) -> None:
    model = KINDS[name]()
    onnx.checker.check_model(model, full_check=True)
    assert model.ByteSize() < _MOST_BYTES
    assert KINDS[name]().SerializeToString() == model.SerializeToString()
