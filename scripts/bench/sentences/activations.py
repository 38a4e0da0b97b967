"""The loss of the sentence model with integers throughout, as accelerators compute it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto

import tandem

Tokens = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Format:
    """Options of `tandem.compile`."""

    weights: str
    smooth: bool

    @property
    def described(self) -> str:
        """The format of weights, and how they are rounded."""
        groups = "" if self.weights == "int8" else " in groups of 32, calibrated"
        return f"{self.weights}{groups}"

    def __str__(self) -> str:
        return f"{self.described}, activations int8{', smoothed' if self.smooth else ''}"


def padded(tokens: Tokens, length: int) -> dict[str, NDArray[np.generic]]:
    """The inputs of sentences, of one length."""
    numbers = np.zeros((len(tokens), length), np.int64)
    mask = np.zeros((len(tokens), length), np.float32)
    for row, words in enumerate(tokens):
        numbers[row, : len(words)] = words
        mask[row, : len(words)] = 1
    return {"tokens": numbers, "mask": mask}


def embeddings(
    model: ModelProto, how: Format, calibration: Tokens, tokens: Tokens, length: int
) -> NDArray[np.float32]:
    """The embeddings of sentences, [sentences, features].

    They are computed on this processor, which gives every bit that an accelerator does: scales and
    requantisations are those that all accelerators compute exactly.
    """
    artifact = tandem.compile(
        model,
        tandem.Cpu(),
        calibrate=padded(calibration, length),
        weights=how.weights,
        smooth=how.smooth,
    )
    session = tandem.Session(artifact)
    inputs = padded(tokens, length)
    found = [
        session.run({name: array[row : row + 1] for name, array in inputs.items()})["embedding"]
        for row in range(len(tokens))
    ]
    return np.concatenate(found)
