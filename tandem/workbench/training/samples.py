"""Samples to train with: arrays in memory, drawn in an order that a seed gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tandem.workbench.errors import TrainingError
from tandem.workbench.training.losses import TARGET

Array: TypeAlias = NDArray[Any]
Numbers: TypeAlias = NDArray[np.int64]
Augment: TypeAlias = Callable[[dict[str, Array], np.random.Generator], dict[str, Array]]
"""A batch changed at random, as by shifts of images."""


class Samples(ABC):
    """A source of batches."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of samples."""

    @abstractmethod
    def batch(
        self, numbers: Numbers, random: np.random.Generator | None = None
    ) -> dict[str, Array]:
        """Samples by their numbers: inputs by the names of the network's parameters, and `target`.

        Parameters
        ----------
        random
            For changes at random; None for the samples as they are.
        """

    @property
    @abstractmethod
    def digest(self) -> str:
        """A digest of all samples: a checkpoint belongs to one."""


@dataclass(frozen=True, slots=True, eq=False)
class ArraySamples(Samples):
    """Samples as rows of arrays.

    Attributes
    ----------
    arrays
        Inputs by the names of parameters, and `target`, each with a row for each sample.
    """

    arrays: Mapping[str, Array]
    augment: Augment | None = None

    def __post_init__(self) -> None:
        lengths = {name: len(array) if array.ndim else 0 for name, array in self.arrays.items()}
        if TARGET not in lengths:
            raise TrainingError(f"no array {TARGET} among {', '.join(lengths) or 'none'}")
        if len({*lengths.values()}) != 1:
            shown = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise TrainingError(f"arrays differ in the number of samples: {shown}")

    def __len__(self) -> int:
        return len(self.arrays[TARGET])

    def batch(
        self, numbers: Numbers, random: np.random.Generator | None = None
    ) -> dict[str, Array]:
        """See `Samples.batch`."""
        found = {name: np.ascontiguousarray(array[numbers]) for name, array in self.arrays.items()}
        return found if random is None or self.augment is None else self.augment(found, random)

    @property
    def digest(self) -> str:
        """See `Samples.digest`."""
        found = sha256()
        for name, array in sorted(self.arrays.items()):
            found.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
            found.update(np.ascontiguousarray(array).data)
        return found.hexdigest()

    def split(self, held_out: int, seed: int) -> tuple[ArraySamples, ArraySamples]:
        """Samples to train with, and others that are held out, drawn at random.

        Raises
        ------
        TrainingError
            No sample would be left.
        """
        if not 0 <= held_out < len(self):
            raise TrainingError(
                f"{held_out} of {len(self)} samples are held out: 0 to {len(self) - 1} are allowed"
            )
        order = np.random.default_rng(seed).permutation(len(self))
        seen, unseen = order[held_out:], order[:held_out]
        return (
            ArraySamples({name: array[seen] for name, array in self.arrays.items()}, self.augment),
            ArraySamples({name: array[unseen] for name, array in self.arrays.items()}),
        )
