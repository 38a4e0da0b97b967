"""Llama by ONNX's reference, against the formulas of the paper in NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, numpy_helper
from onnx.reference import ReferenceEvaluator

from tandem.compiler.models.llama import (
    LONGEST,
    SMALL,
    TINY,
    llama,
    llama_decode,
    llama_decode_tiny,
    llama_of,
    llama_tiny,
)
from tandem.compiler.models.transformer import Sizes, TokenPorts

Array = NDArray[Any]
IDS = np.random.default_rng(1).integers(0, 60, (1, 12))


def weights_of(model: ModelProto) -> dict[str, Array]:
    return {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}


def normed(x: Array, scale: Array) -> Array:
    return np.asarray(x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * scale)


def turned(x: Array) -> Array:
    """Features [tokens, heads, head] as complex numbers, which are turned by their positions."""
    half = x.shape[-1] // 2
    angles = np.arange(len(x))[:, None, None] * 10_000.0 ** (-np.arange(half) / half)
    numbers = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * angles)
    return np.concatenate([numbers.real, numbers.imag], -1)


def formulas(weights: dict[str, Array], sizes: Sizes, ids: Array) -> tuple[Array, dict[str, Array]]:
    """The logits [tokens, vocabulary], and the keys and values [heads, tokens, head] by layer."""
    cache: dict[str, Array] = {}
    x = weights["words"].astype(np.float64)[ids]
    hidden = np.triu(np.full((len(ids), len(ids)), -np.inf), 1)
    for layer in range(sizes.layers):
        stem = f"layer{layer}"
        inner = normed(x, weights[f"{stem}.norm1.scale"])
        query, key, value = (
            (inner @ weights[f"{stem}.{part}.tokens.weight"]).reshape(len(ids), -1, sizes.head)
            for part in ("query", "key", "value")
        )
        query, key = turned(query), turned(key)
        cache |= {f"{stem}.key": key.swapaxes(0, 1), f"{stem}.value": value.swapaxes(0, 1)}
        seen = []
        for head in range(sizes.heads):
            shared = head * sizes.shared_heads // sizes.heads
            scores = query[:, head] @ key[:, shared].T / math.sqrt(sizes.head) + hidden
            powers = np.exp(scores - scores.max(-1, keepdims=True))
            seen.append(powers / powers.sum(-1, keepdims=True) @ value[:, shared])
        x = x + np.concatenate(seen, -1) @ weights[f"{stem}.output.weight"]
        inner = normed(x, weights[f"{stem}.norm2.scale"])
        part = f"{stem}.perceptron"
        gate = inner @ weights[f"{part}.gate.weight"]
        silu = gate / (1 + np.exp(-gate))
        x = x + silu * (inner @ weights[f"{part}.up.weight"]) @ weights[f"{part}.weight"]
    return normed(x, weights["norm.scale"]) @ weights["words"].T, cache


def ran(model: ModelProto, outputs: list[str], given: dict[str, Array]) -> list[Array]:
    return [np.asarray(each) for each in ReferenceEvaluator(model).run(outputs, given)]


def close(found: Array, wanted: Array) -> None:
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("sizes", [TINY, replace(TINY, key_heads=None), replace(TINY, key_heads=1)])
def test_logits(sizes: Sizes) -> None:
    model = llama_of("llama", TokenPorts(sizes), 3)
    onnx.checker.check_model(model, full_check=True)
    (found,) = ran(model, ["logits"], {"ids": IDS})
    close(found[0], formulas(weights_of(model), sizes, IDS[0])[0])
    # Heads that are not shared are not repeated.
    repeats = sum(node.op_type == "Expand" for node in model.graph.node)
    assert repeats == (0 if sizes.shared_heads == 4 else 2 * sizes.layers)


def test_a_token_behind_others_has_the_logits_of_all() -> None:
    whole, decode = llama_tiny(5), llama_decode_tiny(5)
    weights = weights_of(decode)
    logits, cache = formulas(weights, TINY, IDS[0])
    given: dict[str, Array] = {"ids": IDS[:, -1:]}
    for name, rows in cache.items():
        given[f"{name}.past"] = rows[None, :, :-1].astype(np.float32)
    outputs = ["logits", *cache]
    found = dict(zip(outputs, ran(decode, outputs, given), strict=True))
    close(found["logits"][0], logits[-1:])
    for name, rows in cache.items():
        close(found[name][0], rows[:, -1:])
    (first,) = ran(whole, ["logits"], {"ids": IDS})
    close(first[0, -1:], logits[-1:])


def test_weights() -> None:
    """Those of the table have variance 1, and others that of their inputs; last ones of a branch
    are scaled down with the depth."""
    sizes = Sizes(64, 4, 96, 8, tokens=2, vocabulary=50)
    weights = weights_of(llama_of("wide", TokenPorts(sizes), 0))
    root = math.sqrt(64)
    wanted = {
        "words": 1,
        "layer0.query.tokens.weight": 1 / root,
        "layer0.output.weight": 0.25 / root,
    }
    wanted |= {
        "layer0.perceptron.gate.weight": 1 / root,
        "layer0.perceptron.up.weight": 1 / root,
        "layer0.perceptron.weight": 0.25 / math.sqrt(96),
    }
    for name, deviation in wanted.items():
        assert math.isclose(weights[name].std(), deviation, rel_tol=0.05), name
    vectors = {name: each for name, each in weights.items() if each.ndim == 1}
    scales = np.concatenate([each for name, each in vectors.items() if name.endswith(".scale")])
    assert 0.8 <= scales.min() < 0.81
    assert 1.19 < scales.max() <= 1.2
    assert not any("bias" in name for name in weights)


def test_positions_are_those_of_the_longest_text() -> None:
    """A table has that many; these tokens have rows of it, wherever they are."""
    assert LONGEST == 2048
    ports = TokenPorts(replace(TINY, tokens=1, past=2047))
    weights = weights_of(llama_of("last", ports, 0))
    angles = 2047 * 10_000.0 ** (-np.arange(4) / 4)
    close(weights["rotary.cos"], np.cos([*angles, *angles])[None, None, None])
    short = weights_of(llama_of("short", TokenPorts(replace(TINY, past=2)), 0, longest=6))
    assert short["rotary.sin"].shape == (1, 1, 4, 8)


def test_published_sizes() -> None:
    """The parameters of SmolLM-135M, of which no head is apart from the table."""
    shared, features = SMALL.shared_heads * SMALL.head, SMALL.features
    attention = 2 * features * features + 2 * features * shared
    layer = attention + 3 * features * SMALL.hidden + 2 * features
    assert SMALL.vocabulary * features + SMALL.layers * layer + features == 134_515_008
    assert (SMALL.head, SMALL.heads // SMALL.shared_heads, SMALL.tokens) == (64, 3, 128)


@pytest.mark.parametrize(
    ("make", "name", "sizes"),
    [
        (llama, "llama", SMALL),
        (llama_tiny, "llama-tiny", TINY),
        (llama_decode, "llama-decode", replace(SMALL, tokens=1, past=127)),
        (llama_decode_tiny, "llama-decode-tiny", replace(TINY, tokens=1, past=11)),
    ],
)
def test_networks(
    make: Callable[..., Any], name: str, sizes: Sizes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their names, sizes and seeds; large ones are not built."""
    # The package has a function of the module's name.
    module = import_module("tandem.compiler.models.llama")
    monkeypatch.setattr(module, "llama_of", lambda *given: given)
    assert make(4) == (name, TokenPorts(sizes), 4)
    assert make() == (name, TokenPorts(sizes), 0)


def test_the_seed_decides() -> None:
    first, again, other = (llama_tiny(seed).SerializeToString() for seed in (1, 1, 2))
    assert first == again != other


def test_words_beyond_the_vocabulary_are_refused() -> None:
    with pytest.raises(IndexError):
        ReferenceEvaluator(llama_tiny()).run(["logits"], {"ids": IDS + 60})
