"""Decoder artifacts: a decoder compiled for two numbers of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from tandem.runtime.artifact import Artifact
from tandem.runtime.decoder.errors import DecoderError
from tandem.runtime.decoder.ports import DecoderPorts

Types: TypeAlias = Mapping[str, tuple[tuple[int, ...], str]]
"""Shapes and element types by the names of inputs or results."""


@dataclass(frozen=True, slots=True, eq=False)
class DecoderArtifact:
    """A compiled decoder.

    Attributes
    ----------
    prefill
        The function that takes `chunk` tokens, of which the last ones may be missing.
    decode
        The function that takes one token.
    ports
        The names of the inputs and outputs of both.

    Raises
    ------
    DecoderError
        If the functions do not have these inputs and outputs, or have other caches.
    """

    prefill: Artifact
    decode: Artifact
    ports: DecoderPorts

    def __post_init__(self) -> None:
        _check(self)

    @property
    def name(self) -> str:
        """The model's name."""
        return self.decode.manifest.provenance.model

    @property
    def context(self) -> int:
        """The most tokens of a text: those in the cache, and one more."""
        return self.rows + 1

    @property
    def rows(self) -> int:
        """The tokens whose keys and values the cache has."""
        return self.cache_types[self.ports.caches[0].past][0][2]

    @property
    def chunk(self) -> int:
        """The tokens that `prefill` takes in a call."""
        return input_types(self.prefill)[self.ports.ids][0][1]

    @property
    def vocabulary(self) -> int:
        """The number of words."""
        return result_types(self.decode)[self.ports.logits][0][2]

    @property
    def cache_types(self) -> Types:
        """The cache: shapes and element types by the names of inputs."""
        types = input_types(self.decode)
        return {each.past: types[each.past] for each in self.ports.caches}


def input_types(artifact: Artifact) -> Types:
    """The inputs of a network."""
    tensors = {each.name: each for each in artifact.manifest.tensors}
    ports = [(each.name, tensors[each.tensor]) for each in artifact.manifest.inputs]
    return {name: (tensor.shape, tensor.dtype) for name, tensor in ports}


def result_types(artifact: Artifact) -> Types:
    """The results of a network."""
    tensors = {each.name: each for each in artifact.manifest.tensors}
    ports = [(each.name, tensors[each.tensor]) for each in artifact.manifest.results]
    return {name: (tensor.shape, tensor.dtype) for name, tensor in ports}


def _check(decoder: DecoderArtifact) -> None:
    ports = decoder.ports
    if not ports.caches:
        _fail(decoder, "it has no cache")
    vocabularies = set[int]()
    for artifact in (decoder.prefill, decoder.decode):
        inputs, results = input_types(artifact), result_types(artifact)
        if sorted(inputs) != sorted(ports.inputs):
            _fail(decoder, f"its inputs are {_listed(inputs)}, and not {_listed(ports.inputs)}")
        wanted = {ports.logits, *(each.present for each in ports.caches)}
        if missing := wanted - results.keys():
            _fail(decoder, f"it has no result {_listed(missing)}")
        (_, tokens), _ = _typed(decoder, inputs, ports.ids, 2, "int64")
        for cache in ports.caches:
            shape, _ = _typed(decoder, inputs, cache.past, 4, "float32")
            present, _ = _typed(decoder, results, cache.present, 4, "float32")
            rows = shape[2]
            if present not in [(*shape[:2], new, shape[3]) for new in (tokens, rows + tokens)]:
                _fail(
                    decoder,
                    f"{cache.present} is {list(present)}, and no rows of {cache.past}, "
                    f"{list(shape)}",
                )
            if rows != inputs[ports.caches[0].past][0][2] or shape[0] != 1:
                _fail(decoder, f"{cache.past} is {list(shape)}: of another text than the others")
            if (shape, "float32") != input_types(decoder.decode)[cache.past]:
                _fail(decoder, f"its functions have other caches {cache.past}")
        for name, extent in ((ports.positions, tokens), (ports.mask, rows + tokens)):
            shape, _ = _typed(decoder, inputs, name, 2, "int64")
            if shape != (1, extent):
                _fail(decoder, f"{name} is {list(shape)}, not [1, {extent}]")
        logits, _ = _typed(decoder, results, ports.logits, 3, "float32")
        if logits[:2] != (1, tokens) or not logits[2]:
            _fail(decoder, f"{ports.logits} is {list(logits)}, not [1, {tokens}, vocabulary]")
        vocabularies.add(logits[2])
    if len(vocabularies) > 1 or input_types(decoder.decode)[ports.ids][0] != (1, 1):
        _fail(decoder, "its functions have other words, or decode takes several tokens")


def _typed(
    decoder: DecoderArtifact, types: Types, name: str, rank: int, dtype: str
) -> tuple[tuple[int, ...], str]:
    shape, kind = types[name]
    if len(shape) != rank or kind != dtype or not all(shape[:1]):
        _fail(decoder, f"{name} is {kind}{list(shape)}, not {dtype} with {rank} axes")
    return shape, kind


def _fail(decoder: DecoderArtifact, reason: str) -> NoReturn:
    raise DecoderError(f"{decoder.name} is no decoder: {reason}")


def _listed(names: object) -> str:
    return ", ".join(sorted(map(str, names))) or "none"  # type: ignore[call-overload]
