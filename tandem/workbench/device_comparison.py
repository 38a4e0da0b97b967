"""The accelerator's run compared with the CPU's, bit for bit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.runtime.artifact import Artifact, Manifest
from tandem.runtime.executor import Run


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of comparing two runs.

    Attributes
    ----------
    tensors, elements
        Numbers of compared tensors and elements.
    mismatches
        Number of elements that differ.
    largest
        The largest absolute difference; infinite between tensors of different shapes.
    first
        The first tensor that differs, the index, and both values; empty if all are equal.
    """

    tensors: int
    elements: int
    mismatches: int
    largest: float
    first: str

    @property
    def equal(self) -> bool:
        """Whether no element differs."""
        return not self.mismatches

    def as_json(self) -> dict[str, object]:
        """The comparison in JSON."""
        return {
            "reference": "cpu",
            "equal": self.equal,
            "mismatches": self.mismatches,
            "max_abs_diff": self.largest if math.isfinite(self.largest) else None,
            "first": self.first or None,
        }


def boundaries(artifact: Artifact) -> tuple[str, ...]:
    """Names of the tensors passed between devices: inputs and outputs of streams."""
    found: dict[str, None] = {}
    for step in artifact.manifest.steps:
        if not step.on_host:
            found |= dict.fromkeys((*step.inputs, *step.outputs))
    return tuple(found)


def compare(run: Run, reference: Run, artifact: Artifact) -> Comparison:
    """Compare all watched tensors and all outputs of two runs, where they are defined.

    Parameters
    ----------
    artifact
        The network that both ran; the reference may have run its fallback, which has the same
        tensors.
    """
    tensors = elements = mismatches = 0
    largest, first = 0.0, ""
    for name, found, wanted, defined in _pairs(run, reference, artifact.manifest):
        tensors += 1
        if found.shape != wanted.shape:
            elements += wanted.size
            mismatches += max(found.size, wanted.size)
            largest = math.inf
            first = first or f"{name} is {list(found.shape)} and has to be {list(wanted.shape)}"
            continue
        mask = np.broadcast_to(defined, found.shape)
        elements += int(np.count_nonzero(mask))
        # Compared as bits, so that a NaN equals itself.
        wrong = np.argwhere((_bits(found) != _bits(wanted)) & mask)
        if not len(wrong):
            continue
        mismatches += len(wrong)
        with np.errstate(invalid="ignore"):
            apart = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
        largest = max(largest, float(np.nanmax(np.where(mask, apart, 0))))
        at = tuple(map(int, wrong[0]))
        first = first or f"{name}{list(at)} is {found[at]} and has to be {wanted[at]}"
    return Comparison(tensors, elements, mismatches, largest, first)


def _pairs(
    run: Run, reference: Run, manifest: Manifest
) -> Iterator[tuple[str, NDArray[Any], NDArray[Any], NDArray[np.bool_]]]:
    """Name, array of `run`, array of `reference` and mask of each tensor to compare. Arrays of
    joined runs have an axis more in front."""
    tensors = {each.name: each for each in manifest.tensors}
    # A run that took another branch lacks a tensor that the other has.
    absent = np.empty(0)
    for name in dict.fromkeys((*reference.watched, *run.watched)):
        pair = run.watched.get(name, absent), reference.watched.get(name, absent)
        yield name, *pair, tensors[name].defined
    for port in manifest.results:
        # Artifacts are checked: no result has padding.
        outputs = run.outputs[port.name], reference.outputs[port.name]
        yield port.name, *outputs, np.ones((), np.bool_)


def _bits(array: NDArray[Any]) -> NDArray[Any]:
    return array.view(f"u{array.itemsize}") if array.dtype.kind == "f" else array
