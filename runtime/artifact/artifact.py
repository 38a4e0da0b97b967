"""The artifact: a compiled network as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from hw.config import HardwareConfig
from runtime.artifact.check import check
from runtime.artifact.manifest import Manifest
from runtime.artifact.stream import StreamCode
from runtime.errors import ArtifactError
from runtime.native import ObjectCode


@dataclass(frozen=True, slots=True, eq=False)
class Artifact:
    """A compiled network.

    Attributes
    ----------
    manifest
        Tensors and steps.
    config
        The accelerator that the network was compiled for; None if everything runs on the CPU.
    kernels
        Native code by name.
    constants
        Arrays by the names of their tensors.
    streams
        Instruction streams by name.
    fallback
        The same network with native code in place of streams, and tensors of the same names.

    Raises
    ------
    ArtifactError
        If the parts do not fit each other: names, shapes, types, storage, lifetimes in the arena.
    """

    manifest: Manifest
    config: HardwareConfig | None
    kernels: Mapping[str, ObjectCode]
    constants: Mapping[str, NDArray[Any]]
    streams: Mapping[str, StreamCode] = field(default_factory=dict)
    fallback: Artifact | None = None

    def __post_init__(self) -> None:
        if self.streams and self.config is None:
            raise ArtifactError(f"artifact {self.manifest.name}: streams, and no configuration")
        if self.fallback is not None and self.fallback.streams:
            raise ArtifactError(f"artifact {self.manifest.name}: its fallback has streams")
        check(self.manifest, self.kernels, self.streams, self.constants)
