"""The artifact: a compiled network as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from numpy.typing import NDArray

from tandem.runtime.artifact.check import check
from tandem.runtime.artifact.code import Code
from tandem.runtime.artifact.manifest import Manifest
from tandem.runtime.errors import ArtifactError

C = TypeVar("C")


@dataclass(frozen=True, slots=True, eq=False)
class Artifact:
    """A compiled network.

    Attributes
    ----------
    manifest
        Tensors and steps.
    code
        The code of the steps, by name.
    constants
        Arrays by the names of their tensors.
    fallback
        The same network for the host alone, with tensors of the same names.

    Raises
    ------
    ArtifactError
        If the parts do not fit each other: names, shapes, types, storage, lifetimes in the arena.
    """

    manifest: Manifest
    code: Mapping[str, Code]
    constants: Mapping[str, NDArray[Any]]
    fallback: Artifact | None = None

    def __post_init__(self) -> None:
        check(self.manifest, self.code, self.constants)
        if self.fallback is not None:
            self._check_fallback(self.fallback)

    def of_kind(self, kind: type[C]) -> dict[str, C]:
        """The code of one kind, by name."""
        return {name: code for name, code in self.code.items() if isinstance(code, kind)}

    def _check_fallback(self, fallback: Artifact) -> None:
        """Raise `ArtifactError` unless the fallback is of the same network, for the host."""
        if fallback.fallback is not None:
            self._fail("its fallback has a fallback")
        for step in fallback.manifest.steps:
            if not step.on_host:
                self._fail(f"its fallback needs the device {step.device}, for {step.name}")
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
            if not step.on_host:
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
