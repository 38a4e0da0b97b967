"""The cache of a decoder: where rows lie, for each function, and how many bytes were written."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.runtime.decoder import cache as caches
from tandem.runtime.decoder.cache import Cache

SHAPES = {"k": (1, 2, 4, 3), "v": (1, 2, 4, 3)}
ROWS = {name: np.full((1, 2, 2, 3), number, np.float32) for number, name in enumerate("kv", 5)}


class Placed:
    """Memory of integers, with 10 bytes a row."""

    call_bytes = 77

    def __init__(self, rows: dict[str, Any], memory: dict[str, NDArray[Any]]) -> None:
        self.memory = memory

    def put(self, name: str, rows: NDArray[Any], first: int) -> int:
        self.memory[name][first : first + rows.shape[2]] = 1
        return 10 * int(rows.shape[2])


@dataclass(frozen=True)
class Function:
    """A function that has these inputs in the accelerator's memory."""

    own: tuple[str, ...]
    name: str

    def memory_for(self, name: str) -> NDArray[Any]:
        return np.full(4, 99, np.int8)


def made(monkeypatch: pytest.MonkeyPatch, *own: str) -> tuple[Cache, list[Any]]:
    """The cache of functions, and these."""
    functions = [Function((*names.split(),), str(at)) for at, names in enumerate(own)]
    monkeypatch.setattr(caches, "ResidentCache", Placed)
    monkeypatch.setattr(caches, "resident_rows", lambda function: dict.fromkeys(function.own))
    executors = {function: function for function in functions}
    artifact = SimpleNamespace(cache_shapes=SHAPES)
    return Cache(cast(Any, artifact), cast(Any, executors)), functions


def test_all_on_the_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each function has memory of its own, and every row is written to each."""
    cache, (first, second) = made(monkeypatch, "k v", "k v")
    assert cache.append(ROWS, 1) == 2 * 2 * 2 * 10
    for function in (first, second):
        inputs = cache.inputs(function)
        assert [*inputs] == ["k", "v"]
        assert inputs["k"].tolist() == inputs["v"].tolist() == [0, 1, 1, 0]
    assert cache.inputs(first)["k"] is not cache.inputs(second)["k"]
    assert cache.call_bytes(first) == 77
    cache.reset()
    assert not cache.inputs(first)["k"].any()


def test_a_function_that_takes_real_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one of them takes so is in the host's memory, too; bytes are not known then."""
    cache, (first, second) = made(monkeypatch, "k v", "k")
    assert cache.append(ROWS, 2) is None
    assert cache.inputs(first)["v"].tolist() == [0, 0, 1, 1]
    real = cache.inputs(second)["v"]
    assert (real.shape, real.dtype.name) == (SHAPES["v"], "float32")
    assert real[0, 1, :, 2].tolist() == [0, 0, 6, 6]
    assert cache.inputs(second)["k"].dtype == np.int8
    cache.reset()
    assert not real.any()


def test_none_on_the_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have the same arrays."""
    cache, (first, second) = made(monkeypatch, "", "")
    assert cache.append({"k": ROWS["k"]}, 0) is None
    one, other = cache.inputs(first), cache.inputs(second)
    assert one["k"] is other["k"]
    assert one["k"][0, 0, :, 0].tolist() == [5, 5, 0, 0]
    assert not one["v"].any()
