"""How the compressed weights of a network lie in memory, once it is compiled."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from tandem.runtime.artifact import Artifact, StoredWeights, streams_of

_WIDEN = "widen"
_INT8 = "int8"
_CODES = "codes"
_NOBODY = "int8: nothing widens weights of this operator here"


def in_memory(artifact: Artifact, weights: Sequence[StoredWeights]) -> tuple[StoredWeights, ...]:
    """The weights of layers, with where and how an artifact has them (`StoredWeights.memory`)."""
    found = {
        layer.name: layer.weights
        for stream in streams_of(artifact).values()
        for layer in stream.layers
        if layer.weights
    }
    for step in artifact.manifest.steps:
        if step.on_host and _WIDEN in step.operators:
            found[step.name] = _CODES
    return tuple(_told(layer, found) for layer in weights)


def _told(weights: StoredWeights, found: dict[str, str]) -> StoredWeights:
    if weights.format == _INT8:
        return weights
    names = (weights.layer, *weights.results)
    memory = next((found[name] for name in names if name in found), _NOBODY)
    return structs.replace(weights, memory=memory)
