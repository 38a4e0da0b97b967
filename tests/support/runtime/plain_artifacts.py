"""Artifacts that nobody compiled: tensors and steps by hand, with code that no device executes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tandem.hw.config import HardwareConfig
from tandem.runtime.artifact import (
    Artifact,
    Code,
    Layer,
    Manifest,
    PlacedTensor,
    Port,
    Provenance,
    Step,
    StreamCode,
    Tensor,
)
from tandem.runtime.native import Parameter


@dataclass(frozen=True)
class PlainCode:
    """Code by its operands alone."""

    reads: tuple[Parameter, ...]
    writes: tuple[Parameter, ...]

    kind: ClassVar[str] = "plain"

    def to_bytes(self) -> bytes:
        """Nothing."""
        return b""

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Code without operands."""
        return cls((), ())


def plain_artifact(
    tensors: Sequence[Tensor],
    steps: Sequence[Step],
    inputs: Sequence[str] = (),
    results: Sequence[str] = (),
    *,
    constants: Mapping[str, NDArray[Any]] | None = None,
    streams: Mapping[str, StreamCode] | None = None,
    arena_bytes: int = 0,
    fallback: Artifact | None = None,
    provenance: Provenance | None = None,
) -> Artifact:
    """An artifact whose ports have the names of their tensors; steps without a stream have
    `PlainCode` that fits."""
    types = {each.name: each for each in tensors}
    code: dict[str, Code] = {
        step.code: PlainCode(
            _parameters("in", [types[name] for name in step.inputs]),
            _parameters("out", [types[name] for name in step.outputs]),
        )
        for step in steps
    }
    manifest = Manifest(
        "plain",
        provenance or Provenance("plain.onnx"),
        tuple(tensors),
        tuple(Port(name, name) for name in inputs),
        tuple(Port(name, name) for name in results),
        tuple(steps),
        arena_bytes,
    )
    return Artifact(manifest, code | dict(streams or {}), constants or {}, fallback)


def plain_step(
    name: str,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    device: str = "cpu",
    operators: Sequence[str] = ("copy",),
    macs: int = 0,
) -> Step:
    """A step whose code has its name."""
    return Step(name, device, name, tuple(inputs), tuple(outputs), tuple(operators), macs)


def plain_stream(
    name: str,
    config: HardwareConfig,
    program: bytes,
    *,
    image_bytes: int = 64,
    inputs: Sequence[PlacedTensor] = (),
    outputs: Sequence[PlacedTensor] = (),
    layers: Sequence[Layer] = (),
    contents: Sequence[PlacedTensor] = (),
) -> StreamCode:
    """A stream whose instructions belong to no layer, with the bytes 0, 1, 2, ... for an image."""
    count = len(program) // 16
    return StreamCode(
        *(name, config, program, np.arange(image_bytes).astype(np.uint8)),
        *(tuple(inputs), tuple(outputs), tuple(layers)),
        *(np.full(count, -1, np.int32), ("",) * count, tuple(contents)),
    )


def _parameters(kind: str, tensors: Sequence[Tensor]) -> tuple[Parameter, ...]:
    return tuple(
        Parameter(f"{kind}{number}", tensor.shape, tensor.dtype)
        for number, tensor in enumerate(tensors)
    )
