"""Labels: the class of each sample, and how often a network finds it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tandem.base.input_files import read_input
from tandem.base.paths import AnyPath
from tandem.runtime.artifact import Artifact, Tensor
from tandem.runtime.element_types import dtype_of, is_float
from tandem.runtime.inputs import read_arrays
from tandem.workbench.errors import LabelsError

LABEL_BYTES: Final = 1 << 26
"""Limit of a text with labels."""
_TEXTS = (".txt", ".csv")
_ARRAYS = (".npy", ".npz")
_NAME = "labels"
_TOP = 5
_DIGITS = 18
"""The most digits of a class in a text: those of int64."""


@dataclass(frozen=True, slots=True)
class Hits:
    """How many samples have their class first, or among the first five, of a network's scores."""

    top1: int
    top5: int
    samples: int

    def as_json(self) -> dict[str, object]:
        """Fractions of the samples, and their number."""
        return {
            "top1": self.top1 / self.samples,
            "top5": self.top5 / self.samples,
            "samples": self.samples,
        }


@dataclass(frozen=True, slots=True)
class Labels:
    """The class of each sample, from a file."""

    path: Path
    classes: NDArray[np.int64]

    @classmethod
    def read(cls, path: AnyPath) -> Labels:
        """The labels of a file: .npy, .npz (the only array, or that named `labels`), or a text
        (.txt, .csv) with an integer on each line, or separated by commas.

        Raises
        ------
        LabelsError
            A file of another kind, or other content than integers.
        InputError, OSError
            A file that cannot be read.
        """
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix in _TEXTS:
            return cls(path, _parsed(path))
        if suffix not in _ARRAYS:
            allowed = ", ".join((*_ARRAYS, *_TEXTS))
            raise LabelsError(f"{path}: --labels is a file that ends in one of {allowed}")
        found = read_arrays([path], [_NAME])
        if len(found) > 1 and _NAME not in found:
            raise LabelsError(
                f"{path}: it holds {', '.join(found)}: --labels takes one array, or that named "
                f"{_NAME}"
            )
        if not found:
            raise LabelsError(f"{path}: it holds no array: --labels takes one of integers")
        array = found.get(_NAME, next(iter(found.values())))
        if array.dtype.kind not in "iu" or array.size != max(array.shape, default=0):
            raise LabelsError(
                f"{path}: labels are {array.dtype}{list(array.shape)}: an integer for each sample "
                "is wanted, the number of its class"
            )
        return cls(path, np.clip(array.reshape(-1), None, np.iinfo(np.int64).max).astype(np.int64))

    def check(self, artifact: Artifact, batches: int) -> ClassScores:
        """The output that has the scores of the classes.

        Raises
        ------
        LabelsError
            No output or several have scores of classes; another number of labels than of samples;
            a label that is no class.
        """
        scores = ClassScores.of(artifact)
        samples, classes = batches * scores.batch, scores.classes
        if len(self.classes) != samples:
            raise LabelsError(
                f"{self.path} has {len(self.classes):,} labels, and --input {samples:,} samples: "
                "a label for each sample is wanted"
            )
        wrong = np.flatnonzero((self.classes < 0) | (self.classes >= classes))
        if len(wrong):
            raise LabelsError(
                f"{self.path}: the label of sample {wrong[0]} is {self.classes[wrong[0]]}: output "
                f"{scores.output} has the classes 0 to {classes - 1}"
            )
        return scores


@dataclass(frozen=True, slots=True)
class ClassScores:
    """The output of a network that has a score for each class of each sample of a batch."""

    output: str
    batch: int
    classes: int

    @classmethod
    def of(cls, artifact: Artifact) -> ClassScores:
        """The only output of shape [n, classes], or with further extents of 1.

        Raises
        ------
        LabelsError
            None or several outputs have such a shape.
        """
        manifest = artifact.manifest
        tensors = {each.name: each for each in manifest.tensors}
        ports = [(port.name, tensors[port.tensor]) for port in manifest.results]
        found = [(name, tensor) for name, tensor in ports if _has_scores(tensor)]
        if len(found) != 1:
            listed = ", ".join(f"{name} {tensor}" for name, tensor in ports)
            which = "several have" if found else "none has"
            raise LabelsError(
                f"--labels: one output has to hold the scores of classes, [n, classes], and {which}"
                f" in {manifest.name}: {listed}"
            )
        ((name, tensor),) = found
        return cls(name, *tensor.shape[:2])

    def hits(self, outputs: Iterable[NDArray[Any]], labels: Labels) -> Hits:
        """How often the labels are found in the outputs of batches.

        Of equal scores the lower class comes first; a score that is not a number is the lowest.
        """
        scores = np.concatenate([each.reshape(self.batch, self.classes) for each in outputs])
        if is_float(scores.dtype):
            scores = np.nan_to_num(
                scores.astype(np.float64), nan=-np.inf, posinf=np.inf, neginf=-np.inf
            )
        own = np.take_along_axis(scores, labels.classes[:, None], axis=1)
        before = np.arange(self.classes) < labels.classes[:, None]
        rank = ((scores > own) | ((scores == own) & before)).sum(1)
        return Hits(int((rank < 1).sum()), int((rank < _TOP).sum()), len(scores))


def _has_scores(tensor: Tensor) -> bool:
    dtype, shape = dtype_of(tensor.dtype), tensor.shape
    if not (is_float(dtype) or dtype.kind in "iu"):
        return False
    return len(shape) > 1 and shape[1] > 1 and all(extent == 1 for extent in shape[2:])


def _parsed(path: Path) -> NDArray[np.int64]:
    """The integers of a text."""
    found: list[int] = []
    try:
        lines = read_input(path, LABEL_BYTES).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise LabelsError(f"{path}: labels are a text of integers, in UTF-8") from None
    for number, line in enumerate(lines, 1):
        for part in line.split(",") if line.strip() else ():
            text = part.strip()
            digits = text.removeprefix("-")
            if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS):
                raise LabelsError(
                    f"{path}: line {number}: {text[:40]!r} is no integer: labels are the numbers "
                    "of classes, one on each line or separated by commas"
                )
            found.append(int(text))
    return np.array(found, np.int64)
