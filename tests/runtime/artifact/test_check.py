"""Parts of artifacts that do not fit each other."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tandem.runtime.artifact import Arena, Artifact, ConstantPlace, Manifest, PaddedAxis, Port
from tandem.runtime.errors import ArtifactError
from tests.support.runtime.artifacts import compiled


def tensor(name: str, **changes: Any) -> Manifest:
    """The manifest with another tensor of that name."""
    manifest = compiled().manifest
    assert name in [item.name for item in manifest.tensors]
    tensors = tuple(
        replace(item, **changes) if item.name == name else item for item in manifest.tensors
    )
    return replace(manifest, tensors=tensors)


def step(name: str, **changes: Any) -> Manifest:
    """The manifest with another step of that name."""
    manifest = compiled().manifest
    steps = tuple(
        replace(item, **changes) if item.name == name else item for item in manifest.steps
    )
    return replace(manifest, steps=steps)


def other(**changes: Any) -> Manifest:
    return replace(compiled().manifest, **changes)


def refused(manifest: Manifest, message: str) -> None:
    artifact = compiled()
    with pytest.raises(ArtifactError, match=f"^artifact net: {message}"):
        Artifact(manifest, artifact.code, artifact.constants)


STEPS = compiled().manifest.steps
TENSORS = compiled().manifest.tensors


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        (other(arena_bytes=-1), "an arena of -1 bytes"),
        (other(arena_bytes=704), "d lies from 576 to 720 in an arena of 704 bytes"),
        (other(tensors=(*TENSORS, TENSORS[0])), "two tensors have one name"),
        (other(inputs=(Port("x", "x"),)), "its inputs are x, s, but x are named"),
        (other(results=(Port("f", "f"),) * 2), "two results have one name: f, f"),
        (other(results=(Port("f", "g"),)), "result f is g, and there is no such tensor"),
        (other(results=(Port("d", "d"),)), "result d lies in the arena"),
        (other(steps=STEPS[:-1]), "result t is never written"),
        (other(steps=STEPS[1:]), "d reads b before it is written"),
        (other(steps=(STEPS[0], *STEPS)), "b writes b, which is not its own"),
        (tensor("b", dtype="complex64"), "b is of type complex64; .*float32.* are"),
        (tensor("b", shape=(1, -4, 6, 6)), r"b has the shape \(1, -4, 6, 6\)"),
        (tensor("b", rows=0), "b indexes 0 rows"),
        (tensor("b", rows=1 << 50), "b indexes 1125899906842624 rows"),
        (
            tensor("b", padded=(PaddedAxis(13, 1, 3),)),
            r"b: 13 elements in blocks along the axes 1 and 3 of the shape \(1, 4, 6, 6\)",
        ),
        (tensor("f", padded=(PaddedAxis(1, 0, 1),)), "result f has undefined padding"),
        (tensor("b", shape=(1, 4, 6, 5)), r"b: b is .*5\], and conv2d_relu takes .*6\]"),
        (tensor("x", dtype="int32"), "b: x is int32.*, and conv2d_relu takes float32"),
        (tensor("b", place=Arena(-64)), "b lies from -64 to 512 in an arena of 768 bytes"),
        (tensor("b", place=Arena(32)), "b lies from 32 to 608 .* at multiples of 64"),
        (tensor("d", place=Arena(512)), "d writes d over b, which is still needed"),
        (tensor("constant_2", place=Arena(0)), "constant_2 has a value, but is no constant"),
        (tensor("b", place=ConstantPlace()), "constant b has no value"),
        (tensor("constant_2", shape=(1, 2)), r"constant constant_2 is int32\[2\], not int32\[1, 2"),
        (step("f", code="nothing"), "f runs nothing, and there is no such code"),
        (step("f", inputs=("e",)), "f has 1 inputs, and dense 2"),
        (step("f", inputs=("e", "w")), "an operand of f is w, and there is no such tensor"),
        (step("t", outputs=("s",)), "t writes s, which is not its own"),
        (step("t", outputs=()), "t has 0 outputs, and add 1"),
    ],
)
def test_what_does_not_fit(manifest: Manifest, message: str) -> None:
    refused(manifest, message)


def test_a_value_without_a_tensor() -> None:
    artifact = compiled()
    constants = {**artifact.constants, "more": np.zeros(3)}
    with pytest.raises(ArtifactError, match="a constant is more, and there is no such tensor"):
        Artifact(artifact.manifest, artifact.code, constants)


def test_fallbacks_of_other_networks() -> None:
    whole = compiled()
    assert dataclasses.replace(whole, fallback=whole).fallback is whole
    manifest = whole.manifest
    (first, *others) = manifest.inputs
    renamed = replace(manifest, inputs=(Port("other", first.tensor), *others))
    other_network = dataclasses.replace(whole, manifest=renamed)
    with pytest.raises(ArtifactError, match="its fallback is of another network: inputs differ"):
        dataclasses.replace(whole, fallback=other_network)
    with pytest.raises(ArtifactError, match="its fallback has a fallback"):
        dataclasses.replace(whole, fallback=dataclasses.replace(whole, fallback=whole))
