"""Decoder artifacts: a decoder compiled for two numbers of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from tandem.runtime.artifact import Artifact, RowsCode
from tandem.runtime.decoder.errors import DecoderError
from tandem.runtime.decoder.ports import CachePort, DecoderPorts
from tandem.runtime.decoder.resident import resident_rows

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
        return _rows_of(self.decode, self.ports.caches[0])

    @property
    def chunk(self) -> int:
        """The tokens that `prefill` takes in a call."""
        return input_types(self.prefill)[self.ports.ids][0][1]

    @property
    def vocabulary(self) -> int:
        """The number of words."""
        return result_types(self.decode)[self.ports.logits][0][2]

    @property
    def cache_shapes(self) -> Mapping[str, tuple[int, int, int, int]]:
        """The cache in real numbers, [1, heads, rows, features], by the names of inputs."""
        given, made = input_types(self.decode), result_types(self.decode)
        resident = resident_rows(self.decode)
        found = dict[str, tuple[int, int, int, int]]()
        for cache in self.ports.caches:
            types, name = (made, cache.present) if cache.past in resident else (given, cache.past)
            _, heads, _, features = types[name][0]
            found[cache.past] = (1, heads, self.rows, features)
        return found


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
    for artifact in (decoder.prefill, decoder.decode):
        inputs, results = input_types(artifact), result_types(artifact)
        if sorted(inputs) != sorted(ports.inputs):
            _fail(decoder, f"its inputs are {_listed(inputs)}, and not {_listed(ports.inputs)}")
        wanted = {ports.logits, *(each.present for each in ports.caches)}
        if missing := wanted - results.keys():
            _fail(decoder, f"it has no result {_listed(missing)}")
        for name in (ports.ids, ports.positions, ports.mask):
            _typed(decoder, inputs, name, 2, "int64")
        resident = resident_rows(artifact)
        for cache in ports.caches:
            if cache.past not in resident:
                _typed(decoder, inputs, cache.past, 4, "float32")
            _typed(decoder, results, cache.present, 4, "float32")
        _typed(decoder, results, ports.logits, 3, "float32")
    if input_types(decoder.decode)[ports.ids][0] != (1, 1):
        _fail(decoder, "decode takes several tokens")
    vocabularies = set[int]()
    for artifact in (decoder.prefill, decoder.decode):
        inputs, results = input_types(artifact), result_types(artifact)
        tokens, rows = inputs[ports.ids][0][1], _rows_of(artifact, ports.caches[0])
        _check_caches(decoder, artifact, tokens, rows)
        for name, extent in ((ports.positions, tokens), (ports.mask, rows + tokens)):
            if inputs[name][0] != (1, extent):
                _fail(decoder, f"{name} is {list(inputs[name][0])}, not [1, {extent}]")
        logits = results[ports.logits][0]
        if logits[:2] != (1, tokens) or not logits[2]:
            _fail(decoder, f"{ports.logits} is {list(logits)}, not [1, {tokens}, vocabulary]")
        vocabularies.add(logits[2])
    if len(vocabularies) > 1:
        _fail(decoder, "its functions have other words")


def _rows_of(artifact: Artifact, cache: CachePort) -> int:
    """The rows of a function's cache."""
    resident = resident_rows(artifact)
    if cache.past in resident:
        return resident[cache.past].code.first
    return input_types(artifact)[cache.past][0][2]


def _check_caches(decoder: DecoderArtifact, artifact: Artifact, tokens: int, rows: int) -> None:
    """Raise a `DecoderError` unless a function of some tokens has the decoder's cache."""
    inputs, results = input_types(artifact), result_types(artifact)
    resident = resident_rows(artifact)
    for cache in decoder.ports.caches:
        present = results[cache.present][0]
        if cache.past in resident:
            _check_rows(decoder, cache, resident[cache.past].code, present, tokens)
            continue
        shape = inputs[cache.past][0]
        if present not in [(*shape[:2], new, shape[3]) for new in (tokens, rows + tokens)]:
            _fail(
                decoder,
                f"{cache.present} is {list(present)}, and no rows of {cache.past}, {list(shape)}",
            )
        if shape[2] != rows or shape[0] != 1:
            _fail(decoder, f"{cache.past} is {list(shape)}: of another text than the others")
        if shape != decoder.cache_shapes[cache.past]:
            _fail(decoder, f"its functions have other caches {cache.past}")


def _check_rows(
    decoder: DecoderArtifact,
    cache: CachePort,
    code: RowsCode,
    present: tuple[int, ...],
    tokens: int,
) -> None:
    """Raise a `DecoderError` unless a step adds the rows of `present` behind those of the cache."""
    _, heads, _, features = decoder.cache_shapes[cache.past]
    wanted = (decoder.rows, tokens, heads * features)
    if (code.first, code.count, code.elements) != wanted or present != (1, heads, tokens, features):
        _fail(
            decoder,
            f"{cache.past} gets {code.count} rows of {code.elements} behind {code.first}, and "
            f"{cache.present} is {list(present)}",
        )


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
