"""Checks of a network's inputs: names, shapes, types, and finite values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.runtime.artifact import Manifest, Tensor
from tandem.runtime.element_types import dtype_of, is_float
from tandem.runtime.errors import InputError

_ROUNDING = "quantise"
"""The operator that rounds real numbers to integers."""


class Expected:
    """The inputs that a network takes, for a quick look at those that are given."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._rows = [(each.name, each.shape, dtype_of(each.dtype)) for each in tensors]

    def fit(self, inputs: Mapping[str, Any]) -> bool:
        """Whether these are arrays of the names, shapes and types of the tensors, and no others;
        `check_inputs` says what is wrong."""
        if len(inputs) != len(self._rows):
            return False
        for name, shape, dtype in self._rows:
            array = inputs.get(name)
            if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != dtype:
                return False
        return True


def check_inputs(
    network: str, tensors: Sequence[Tensor], inputs: Mapping[str, NDArray[Any]]
) -> None:
    """Check that inputs have the names, shapes and types of the tensors.

    Raises
    ------
    InputError
        An input that is missing, unknown, or of another shape or type.
    """
    names = {each.name for each in tensors}
    for name in inputs:
        if name not in names:
            raise InputError(f"{network} has no input {name}; it takes {_wanted(tensors)}")
    for tensor in tensors:
        if tensor.name not in inputs:
            raise InputError(
                f"input {tensor.name} of {network} is missing; it takes {_wanted(tensors)}"
            )
        array = inputs[tensor.name]
        if array.shape != tensor.shape or array.dtype != dtype_of(tensor.dtype):
            raise InputError(
                f"input {tensor.name} of {network} is {tensor}, "
                f"not {array.dtype}{list(array.shape)}"
            )


def _wanted(tensors: Sequence[Tensor]) -> str:
    return ", ".join(f"{each.name} {each}" for each in tensors) or "nothing"


def rounded_inputs(manifest: Manifest) -> dict[str, bool]:
    """The inputs that are rounded to integers, by name: whether infinities are refused.

    Of a model that itself quantises an input at once, an infinity becomes the greatest or the least
    integer, as ONNX's QuantizeLinear says. Other operators may make NaN of it; and where the model
    computes with real numbers, integers do not stand for it.
    """
    types = {each.name: dtype_of(each.dtype) for each in manifest.tensors}
    # For each tensor of real numbers, the inputs that it depends on.
    at_once = {port.tensor for port in manifest.inputs}
    is_given = manifest.provenance.scales_are_given
    origins = {
        port.tensor: frozenset((port.name,))
        for port in manifest.inputs
        if is_float(types[port.tensor])
    }
    nothing = frozenset[str]()
    rounded = computed = nothing
    for step in manifest.steps:
        sources = nothing.union(*(origins.get(name, nothing) for name in step.inputs))
        if _ROUNDING in step.operators:
            rounded |= sources
            real = {name for name in step.inputs if origins.get(name)}
            if step.operators[0] != _ROUNDING or not real <= at_once or not is_given:
                computed |= sources
        for name in step.outputs:
            if is_float(types[name]):
                origins[name] = sources
    names = [each.name for each in manifest.inputs]
    return {name: name in computed for name in names if name in rounded}


def check_finite(
    network: str, rounded: Mapping[str, bool], inputs: Mapping[str, NDArray[Any]]
) -> None:
    """Refuse NaN, which no integer represents, and infinity where it does not saturate, in inputs
    that are rounded.

    Parameters
    ----------
    rounded
        The result of `rounded_inputs`.

    Raises
    ------
    InputError
        An input has NaN or infinity: names the first index.
    """
    for name, are_refused in rounded.items():
        finite = np.isfinite(inputs[name]) if are_refused else ~np.isnan(inputs[name])
        if not finite.all():
            index = tuple(map(int, np.unravel_index(int(np.argmin(finite)), finite.shape)))
            raise InputError(
                f"input {name} of {network} is {inputs[name][index]} at {list(index)}: the network "
                "is quantised, and integers stand for finite numbers only"
            )
