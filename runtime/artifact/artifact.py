"""The artifact: a compiled network as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from numpy.typing import NDArray

from hw.config import HardwareConfig
from runtime.artifact.check import check
from runtime.artifact.manifest import Manifest, StreamCall
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
            self._fail("streams, and no configuration")
        if self.fallback is not None and self.fallback.streams:
            self._fail("its fallback has streams")
        check(self.manifest, self.kernels, self.streams, self.constants)
        if self.fallback is not None:
            self._check_fallback(self.fallback)

    def _check_fallback(self, fallback: Artifact) -> None:
        """Raise `ArtifactError` unless the fallback is of the same network."""
        if fallback.fallback is not None:
            self._fail("its fallback has a fallback")
        own, others = self._types, fallback._types
        for kind in ("inputs", "results"):
            ports, given = (
                [(port.name, types.get(port.tensor)) for port in getattr(part.manifest, kind)]
                for part, types in ((self, own), (fallback, others))
            )
            if ports != given:
                self._fail(f"its fallback is of another network: {kind} differ")
        if self._counted != fallback._counted:
            self._fail("its fallback is of another network: counts differ")
        for step in self.manifest.steps:
            if isinstance(step, StreamCall):
                for name in (*step.inputs, *step.outputs):
                    if own[name] != others.get(name):
                        self._fail(f"its fallback is of another network: {name} differs")

    @property
    def _types(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """Shapes and element types of the tensors, by name."""
        return {tensor.name: (tensor.shape, tensor.dtype) for tensor in self.manifest.tensors}

    @property
    def _counted(self) -> set[tuple[str, int]]:
        """The extents of results that are known only after a run."""
        return {(count.result, count.axis) for count in self.manifest.counts}

    def _fail(self, reason: str) -> NoReturn:
        raise ArtifactError(f"artifact {self.manifest.name}: {reason}")
