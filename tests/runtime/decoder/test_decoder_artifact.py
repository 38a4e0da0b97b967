"""Which two functions are a decoder: names, ranks, element types and extents of their ports."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from msgspec import structs

from tandem.runtime.artifact import Artifact
from tandem.runtime.decoder import DecoderArtifact, DecoderError
from tandem.runtime.decoder.decoder_artifact import input_types, result_types
from tandem.runtime.decoder.resident import resident_rows
from tests.support.decoders import CONTEXT, ONE_LAYER, compiled

Shape = tuple[int, ...]

DECODER = compiled(ONE_LAYER, None)
PORTS = DECODER.ports
KEYS, VALUES = PORTS.caches
ROWS, CHUNK, WORDS = CONTEXT - 1, 4, 256
CACHE: Shape = (1, 2, ROWS, 8)


def changed(artifact: Artifact, **tensors: tuple[Shape, str]) -> Artifact:
    """A function whose ports, of the names KEYS, ..., have other shapes and element types."""
    manifest = artifact.manifest
    names = {each.name: each.tensor for each in (*manifest.inputs, *manifest.results)}
    types = {names[ROLES[role]]: found for role, found in tensors.items()}
    made = tuple(
        structs.replace(tensor, shape=types[tensor.name][0], dtype=types[tensor.name][1])
        if tensor.name in types
        else tensor
        for tensor in manifest.tensors
    )
    # Code and tensors would no longer fit each other, which artifacts check themselves.
    found = SimpleNamespace(manifest=structs.replace(manifest, tensors=made), code=artifact.code)
    return cast(Artifact, found)


ROLES = {
    "ids": PORTS.ids,
    "positions": PORTS.positions,
    "mask": PORTS.mask,
    "logits": PORTS.logits,
    "keys": KEYS.past,
    "values": VALUES.past,
    "new_keys": KEYS.present,
    "new_values": VALUES.present,
}


def test_what_a_decoder_says_of_itself() -> None:
    assert (DECODER.rows, DECODER.context) == (ROWS, ROWS + 1)
    assert (DECODER.chunk, DECODER.vocabulary) == (CHUNK, WORDS)
    assert DECODER.cache_shapes == {KEYS.past: CACHE, VALUES.past: CACHE}
    assert input_types(DECODER.prefill)[PORTS.mask] == ((1, ROWS + CHUNK), "int64")
    assert result_types(DECODER.decode)[PORTS.logits] == ((1, 1, WORDS), "float32")


def test_new_rows_may_stand_behind_the_old_ones() -> None:
    whole = ((1, 2, ROWS + 1, 8), "float32")
    found = DecoderArtifact(
        DECODER.prefill, changed(DECODER.decode, new_keys=whole, new_values=whole), PORTS
    )
    assert found.rows == ROWS


@pytest.mark.parametrize(
    ("role", "shape", "dtype", "message"),
    [
        ("ids", (1,), "int64", "{} is int64[1], not int64 with 2 axes"),
        ("ids", (1, 1), "int32", "{} is int32[1, 1], not int64 with 2 axes"),
        ("ids", (0, 1), "int64", "{} is int64[0, 1], not int64 with 2 axes"),
        ("keys", (1, 2, ROWS), "float32", "not float32 with 4 axes"),
        ("keys", CACHE, "int8", "not float32 with 4 axes"),
        ("values", CACHE, "float16", "not float32 with 4 axes"),
        ("new_keys", (2, 1, 8), "float32", "not float32 with 4 axes"),
        ("new_values", (1, 2, 1, 8), "int8", "not float32 with 4 axes"),
        ("new_keys", (1, 2, 2, 8), "float32", "{} is [1, 2, 2, 8], and no rows of"),
        ("new_keys", (1, 2, ROWS, 8), "float32", "and no rows of"),
        ("new_keys", (1, 2, 1, 9), "float32", "and no rows of"),
        ("new_values", (1, 3, 1, 8), "float32", "and no rows of"),
        ("values", (1, 2, ROWS - 1, 8), "float32", "of another text than the others"),
        ("positions", (1, 2), "int64", "{} is [1, 2], not [1, 1]"),
        ("positions", (2, 1), "int64", "{} is [2, 1], not [1, 1]"),
        ("positions", (1, 1), "int32", "not int64 with 2 axes"),
        ("mask", (1, ROWS), "int64", f"not [1, {ROWS + 1}]"),
        ("mask", (1, ROWS + 2), "int64", f"not [1, {ROWS + 1}]"),
        ("logits", (1, 1), "float32", "not float32 with 3 axes"),
        ("logits", (1, 1, WORDS), "float64", "not float32 with 3 axes"),
        ("logits", (1, 2, WORDS), "float32", "not [1, 1, vocabulary]"),
        ("logits", (1, 1, 0), "float32", "not [1, 1, vocabulary]"),
        ("logits", (1, 1, WORDS - 1), "float32", "its functions have other words"),
    ],
)
def test_ports_of_other_types(role: str, shape: Shape, dtype: str, message: str) -> None:
    prefill, decode = DECODER.prefill, DECODER.decode
    if role in ("keys", "values"):
        prefill = changed(prefill, **{role: (shape, dtype)})
    else:
        decode = changed(decode, **{role: (shape, dtype)})
    with pytest.raises(DecoderError) as caught:
        DecoderArtifact(prefill, decode, PORTS)
    assert str(caught.value).startswith("one-layer is no decoder: ")
    assert message.format(ROLES[role]) in str(caught.value)


def test_a_cache_of_two_texts() -> None:
    two = ((2, 2, ROWS, 8), "float32")
    new = ((2, 2, CHUNK, 8), "float32")
    prefill = changed(DECODER.prefill, keys=two, values=two, new_keys=new, new_values=new)
    with pytest.raises(DecoderError, match="of another text than the others"):
        DecoderArtifact(prefill, DECODER.decode, PORTS)


def test_rows_that_do_not_come_behind_the_cache() -> None:
    """Of a decoder that has its cache where the accelerator reads it."""
    decoder = compiled(ONE_LAYER, "tiny-x")
    assert decoder.rows == ROWS
    assert decoder.cache_shapes == {KEYS.past: CACHE, VALUES.past: CACHE}
    code = resident_rows(decoder.decode)[VALUES.past].code
    wrong = structs.replace(code, first=ROWS - 1)
    codes = {**decoder.decode.code, code.name: wrong}
    decode = SimpleNamespace(manifest=decoder.decode.manifest, code=codes)
    with pytest.raises(
        DecoderError, match=r"value gets 1 rows of 16 behind 10, and present\.0\.value is"
    ):
        DecoderArtifact(decoder.prefill, cast(Artifact, decode), PORTS)


def test_caches_of_two_lengths() -> None:
    shorter = ((1, 2, ROWS - 1, 8), "float32")
    prefill = changed(
        DECODER.prefill, keys=shorter, values=shorter, mask=((1, ROWS - 1 + CHUNK), "int64")
    )
    with pytest.raises(DecoderError, match="its functions have other caches"):
        DecoderArtifact(prefill, DECODER.decode, PORTS)


@pytest.mark.parametrize("name", [PORTS.logits, KEYS.present, VALUES.present])
def test_a_result_that_is_missing(name: str) -> None:
    manifest = DECODER.prefill.manifest
    results = tuple(each for each in manifest.results if each.name != name)
    prefill = SimpleNamespace(
        manifest=structs.replace(manifest, results=results), code=DECODER.prefill.code
    )
    with pytest.raises(DecoderError, match=f"it has no result {name}$"):
        DecoderArtifact(cast(Artifact, prefill), DECODER.decode, PORTS)
