"""The types and shapes of what a step reads and writes, as text."""

from __future__ import annotations

from tandem.runtime.artifact import ConstantPlace, Manifest, Step


def step_shapes(manifest: Manifest, step: Step) -> tuple[str, str]:
    """What a step reads and what it writes, as `float32[1, 8], int8[4]` and `-> float32[1, 4]`.

    Scalars and vectors that are constants, as scales and biases, are left out.
    """
    tensors = {tensor.name: tensor for tensor in manifest.tensors}
    read = [tensors[name] for name in step.inputs]
    shown = [
        tensor
        for tensor in read
        if not isinstance(tensor.place, ConstantPlace) or len(tensor.shape) > 1
    ]
    return (
        ", ".join(map(str, shown)),
        "-> " + ", ".join(str(tensors[name]) for name in step.outputs),
    )
