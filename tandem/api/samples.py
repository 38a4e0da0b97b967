"""Inputs of calibration and of runs: arrays of users, checked against a network's inputs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tandem.runtime.artifact import Tensor
from tandem.runtime.errors import InputError
from tandem.runtime.inputs import PixelNormalisation, read_samples
from tandem.runtime.inputs.batches import batches_of
from tandem.runtime.inputs.check import check_inputs
from tandem.workbench.arguments import expect, file_path, value_errors

Inputs: TypeAlias = Mapping[str, ArrayLike] | ArrayLike
"""Arrays by the names of inputs, or one array for the only input. Several batches along the first
axis are run one after the other."""
Samples: TypeAlias = str | os.PathLike[str] | Inputs | Iterable[Mapping[str, ArrayLike]]
"""A file or folder of inputs, or arrays."""
Arrays: TypeAlias = Mapping[str, NDArray[Any]]


def batches(network: str, inputs: object, tensors: Sequence[Tensor]) -> list[Arrays]:
    """The batches of a run's inputs.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        An array alone where a network has several inputs; an input that is missing, unknown, or of
        another shape or type: says what is wanted.
    """
    arrays = _named(network, inputs, tensors)
    found = batches_of(arrays, tensors)
    with value_errors(InputError):
        for batch in found:
            check_inputs(network, tensors, batch)
    return found


def calibration(
    network: str, samples: object, pixels: PixelNormalisation
) -> Callable[[tuple[Tensor, ...]], Iterator[Arrays]]:
    """A function from a network's inputs to the samples of a calibration; raises as `batches`, and
    `InputError` for files that cannot be read."""
    if isinstance(samples, str | os.PathLike):
        path = file_path("calibrate", samples)
        return lambda tensors: iter(read_samples(path, tensors, pixels))
    return lambda tensors: _sampled(network, samples, tensors)


def calibration_file(samples: object) -> Path | None:
    """The file or folder of samples, if they are none in memory."""
    return Path(samples) if isinstance(samples, str | os.PathLike) else None


def _sampled(network: str, samples: object, tensors: Sequence[Tensor]) -> Iterator[Arrays]:
    several = isinstance(samples, Iterable) and not isinstance(samples, Mapping | np.ndarray)
    for sample in samples if several and isinstance(samples, Iterable) else (samples,):
        yield from batches(network, sample, tensors)


def _named(network: str, inputs: object, tensors: Sequence[Tensor]) -> Arrays:
    if isinstance(inputs, Mapping):
        return {str(name): np.asarray(array) for name, array in inputs.items()}
    if len(tensors) == 1 and (hasattr(inputs, "__array__") or isinstance(inputs, list | tuple)):
        return {tensors[0].name: np.asarray(inputs)}
    wanted = ", ".join(f"{tensor.name} {tensor}" for tensor in tensors)
    allowed = "a mapping" if len(tensors) > 1 else "a mapping, or an array"
    expect(f"the input of {network}", inputs, f"{allowed}: it takes {wanted or 'nothing'}")
