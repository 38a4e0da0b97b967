"""The inputs of calls of a decoder, by hand."""

from __future__ import annotations

import numpy as np

from tandem.runtime.decoder.call_inputs import call_inputs
from tandem.runtime.decoder.ports import CachePort, DecoderPorts

PORTS = DecoderPorts("ids", "positions", "mask", "logits", (CachePort("k", "k_new"),))
CACHE = {"k": np.ones((1, 2, 5, 3), np.float32)}


def test_the_names_of_inputs() -> None:
    assert PORTS.inputs == ("ids", "positions", "mask", "k")


def test_a_part_of_a_prompt_behind_two_tokens() -> None:
    found = call_inputs(PORTS, CACHE, 5, 4, 2, [7, 8, 9])
    assert {name: array.tolist() for name, array in found.items() if name != "k"} == {
        "ids": [[7, 8, 9, 0]],
        "positions": [[2, 3, 4, 5]],
        # Two rows of the cache of five are there, and three tokens of four.
        "mask": [[1, 1, 0, 0, 0, 1, 1, 1, 0]],
    }
    assert found["k"] is CACHE["k"]
    assert {array.dtype for name, array in found.items() if name != "k"} == {np.dtype(np.int64)}


def test_positions_end_with_the_context() -> None:
    found = call_inputs(PORTS, CACHE, 5, 3, 4, [1])
    assert found["positions"].tolist() == [[4, 5, 5]]
    assert found["mask"].tolist() == [[1, 1, 1, 1, 0, 1, 0, 0]]
    full = call_inputs(PORTS, CACHE, 5, 1, 5, [1])
    assert full["mask"].tolist() == [[1, 1, 1, 1, 1, 1]]
    assert full["positions"].tolist() == [[5]]
