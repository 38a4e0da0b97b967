"""The inputs of a run: read and checked before the network is compiled."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from numpy.typing import NDArray

from tandem.runtime.artifact import Artifact, Tensor
from tandem.runtime.inputs import PixelNormalisation, random_inputs, read_inputs
from tandem.runtime.inputs.batches import batches_of
from tandem.runtime.inputs.check import check_finite, check_inputs, rounded_inputs

_Arrays: TypeAlias = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class RunInputs:
    """The inputs of a run.

    Attributes
    ----------
    network
        The network's name, for messages.
    arrays
        Arrays by input name, of one batch or several.
    batches
        The same arrays, split into batches.
    """

    network: str
    arrays: _Arrays
    batches: Sequence[_Arrays]

    @classmethod
    def read(
        cls,
        network: str,
        tensors: Sequence[Tensor],
        paths: Sequence[Path],
        pixels: PixelNormalisation,
        seed: int,
        constants: Collection[str] = (),
    ) -> RunInputs:
        """Inputs from files, or seeded noise where there are no files.

        Those in `constants` are constants of the network, and left out.

        Raises
        ------
        InputError
            The errors of `read_inputs`; names, shapes or types that differ from those of `tensors`.
        """
        arrays = read_inputs(paths, tensors, pixels) if paths else random_inputs(tensors, seed)
        arrays = {name: array for name, array in arrays.items() if name not in constants}
        tensors = [each for each in tensors if each.name not in constants]
        batches = batches_of(arrays, tensors)
        for batch in batches:
            check_inputs(network, tensors, batch)
        return cls(network, arrays, batches)

    def check_finite(self, artifact: Artifact) -> None:
        """Raise `InputError` if any batch has NaN in an input that the network quantises, or
        infinity that does not saturate.
        """
        check_finite(self.network, rounded_inputs(artifact.manifest), self.arrays)
