"""The inputs that a network takes."""

from __future__ import annotations

from msgspec.structs import replace

from tandem.runtime.artifact import Artifact, Tensor


def inputs_of(artifact: Artifact) -> tuple[Tensor, ...]:
    """The input tensors of an artifact, by the model's names and in the model's order."""
    tensors = {each.name: each for each in artifact.manifest.tensors}
    return tuple(replace(tensors[each.tensor], name=each.name) for each in artifact.manifest.inputs)
