"""What a network is given: read and looked at before anything lasts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from numpy.typing import NDArray

from runtime.artifact import Artifact, Tensor
from runtime.inputs import Pixels, random_inputs, read_inputs
from runtime.inputs.batches import batches_of
from runtime.inputs.check import check_finite, check_inputs, rounded_inputs

__all__ = ["Given"]

_Arrays: TypeAlias = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Given:
    """Arrays by name, of one batch or several."""

    network: str
    arrays: _Arrays
    batches: Sequence[_Arrays]

    @classmethod
    def of(
        cls,
        network: str,
        tensors: Sequence[Tensor],
        paths: Sequence[Path],
        pixels: Pixels,
        seed: int,
    ) -> Given:
        """From files, or noise where there are none.

        Raises
        ------
        InputError
            As `read_inputs`; names, shapes and types that are not those of the tensors.
        """
        arrays = read_inputs(paths, tensors, pixels) if paths else random_inputs(tensors, seed)
        batches = batches_of(arrays, tensors)
        for each in batches:
            check_inputs(network, tensors, each)
        return cls(network, arrays, batches)

    def check(self, artifact: Artifact) -> None:
        """Refuse, with an `InputError`, values that the compiled network has no integers for: in
        all batches, before the first one runs."""
        check_finite(self.network, rounded_inputs(artifact.manifest), self.arrays)
