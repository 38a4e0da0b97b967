"""Samples to calibrate decoders with: what their functions are given while they read texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.frontends.onnx import Imported
from tandem.compiler.graph.evaluate import Runner, evaluate
from tandem.compiler.graph.types import TensorType
from tandem.runtime.decoder import DecoderPorts
from tandem.runtime.decoder.call_inputs import call_inputs

_TEXTS = 2
"""Random texts to calibrate with."""
Inputs = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class DecoderSamples:
    """Inputs of both functions of a decoder, by name."""

    prefill: list[Inputs] = field(default_factory=list)
    decode: list[Inputs] = field(default_factory=list)


def random_texts(vocabulary: int, length: int, seed: int) -> list[NDArray[np.int64]]:
    """Texts of random tokens."""
    random = np.random.default_rng(seed)
    return [random.integers(0, vocabulary, length) for _ in range(_TEXTS)]


def decoder_samples(
    prefill: Imported,
    ports: DecoderPorts,
    texts: Sequence[NDArray[np.int64]],
    runner: Runner,
) -> DecoderSamples:
    """What the functions of a decoder are given as they read texts, by the float32 network of
    `prefill`, in real numbers.

    Of each text, `prefill` reads all; `decode` is given one token behind each part of it.

    Parameters
    ----------
    texts
        Of one token or more, and no longer than the context.
    """
    types = dict(zip(prefill.inputs, (each.type for each in prefill.function.params), strict=True))
    width = _shape(types[ports.ids])[1]
    found = DecoderSamples()
    for text in texts:
        cache = {each.past: np.zeros(_shape(types[each.past]), np.float32) for each in ports.caches}
        rows = next(iter(cache.values())).shape[2]
        for start in range(0, len(text), width):
            part = text[start : start + width]
            if start:
                own = {name: array.copy() for name, array in cache.items()}
                found.decode.append(call_inputs(ports, own, rows, 1, start, part[:1].tolist()))
            own = {name: array.copy() for name, array in cache.items()}
            sample = call_inputs(ports, own, rows, width, start, part.tolist())
            found.prefill.append(sample)
            values = evaluate(prefill.function, [sample[name] for name in prefill.inputs], runner)
            outputs = prefill.by_name(values)
            kept = min(len(part), rows - start)
            for port in ports.caches:
                new = outputs[port.present]
                first = new.shape[2] - width
                cache[port.past][:, :, start : start + kept] = new[:, :, first : first + kept]
        if not found.decode or len(text) < rows:
            own = {name: array.copy() for name, array in cache.items()}
            length = min(len(text), rows)
            found.decode.append(call_inputs(ports, own, rows, 1, length, text[-1:].tolist()))
    return found


def _shape(type_: object) -> tuple[int, ...]:
    assert isinstance(type_, TensorType), "inputs of models are tensors"
    return type_.static_shape("an input")
