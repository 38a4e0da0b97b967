"""Bytes of weights of few bits."""

from __future__ import annotations

import pytest

from tandem.compiler.quantise.compressed.layer_weights import LayerWeights


@pytest.mark.parametrize(("bits", "size"), [(0, 0), (1, 1), (7, 1), (8, 1), (9, 2), (16, 2)])
def test_bytes_are_whole(bits: int, size: int) -> None:
    assert LayerWeights("y", "int4", 32, 5, bits).bytes == size


def test_defaults() -> None:
    found = LayerWeights("y", "int8", None, 5, 40)
    assert (found.reason, found.results) == ("", ())
