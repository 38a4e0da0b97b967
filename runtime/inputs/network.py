"""What a network wants to be given."""

from __future__ import annotations

from msgspec.structs import replace

from runtime.artifact import Artifact, Tensor

__all__ = ["inputs_of"]


def inputs_of(artifact: Artifact) -> tuple[Tensor, ...]:
    """Tensors by the model's names, in its order."""
    tensors = {each.name: each for each in artifact.manifest.tensors}
    return tuple(replace(tensors[each.tensor], name=each.name) for each in artifact.manifest.inputs)
