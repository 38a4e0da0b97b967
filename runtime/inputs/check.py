"""Whether what a network is given fits it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runtime.artifact import Manifest, Tensor
from runtime.errors import InputError

__all__ = ["check_finite", "check_inputs", "rounded_inputs"]

_ROUNDING = "quantise"
"""The operator that makes integers of real numbers."""


def check_inputs(
    network: str, tensors: Sequence[Tensor], inputs: Mapping[str, NDArray[Any]]
) -> None:
    """Refuse names, shapes and types that are not those of the tensors.

    Raises
    ------
    InputError
        An input that is missing, unknown, or of another shape or type.
    """
    wanted = ", ".join(f"{each.name} {each}" for each in tensors) or "nothing"
    names = {each.name for each in tensors}
    for name in inputs:
        if name not in names:
            raise InputError(f"{network} has no input {name}; it takes {wanted}")
    for each in tensors:
        if each.name not in inputs:
            raise InputError(f"input {each.name} of {network} is missing; it takes {wanted}")
        array = inputs[each.name]
        if array.shape != each.shape or array.dtype != np.dtype(each.dtype):
            raise InputError(
                f"input {each.name} of {network} is {each}, not {array.dtype}{list(array.shape)}"
            )


def rounded_inputs(manifest: Manifest) -> tuple[str, ...]:
    """The inputs that are rounded to integers, at once or after they went through real numbers."""
    types = {each.name: np.dtype(each.dtype) for each in manifest.tensors}
    # By tensors of real numbers: the inputs that they come of.
    origins = {
        each.tensor: frozenset((each.name,))
        for each in manifest.inputs
        if types[each.tensor].kind == "f"
    }
    nothing = frozenset[str]()
    rounded = nothing
    for step in manifest.steps:
        came = nothing.union(*(origins.get(name, nothing) for name in step.inputs))
        if _ROUNDING in step.operators:
            rounded |= came
        for name in step.outputs:
            if types[name].kind == "f":
                origins[name] = came
    return tuple(each.name for each in manifest.inputs if each.name in rounded)


def check_finite(network: str, names: Collection[str], inputs: Mapping[str, NDArray[Any]]) -> None:
    """Refuse what integers cannot tell: they would be others, and the answer as good as any.

    Parameters
    ----------
    names
        Of `rounded_inputs`.

    Raises
    ------
    InputError
        NaN or infinity: names the first place.
    """
    for name in names:
        finite = np.isfinite(inputs[name])
        if not finite.all():
            place = tuple(map(int, np.unravel_index(int(np.argmin(finite)), finite.shape)))
            raise InputError(
                f"input {name} of {network} is {inputs[name][place]} at {list(place)}: the network "
                "is quantised, and integers stand for finite numbers only"
            )
