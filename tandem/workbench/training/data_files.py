"""Samples from files: .npz, with an array for each input of a model, and `target`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tandem.compiler.graph.indices import rows_of_tables
from tandem.compiler.graph.infer import result_of
from tandem.compiler.graph.nodes import Function
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import DType
from tandem.runtime.errors import InputError
from tandem.runtime.inputs import read_archive
from tandem.workbench.errors import TrainingError
from tandem.workbench.training.losses import TARGET, Loss, check_input_names, with_loss
from tandem.workbench.training.samples import Array, ArraySamples


def read_arrays(path: Path) -> dict[str, Array]:
    """The arrays of a .npz file by name.

    Raises
    ------
    TrainingError
        The file cannot be read, is no .npz file, or is damaged.
    """
    try:
        return read_archive(path)
    except InputError as error:
        raise TrainingError(f"{error}: a .npz file with {TARGET} is needed") from None


def array_samples(
    arrays: Mapping[str, Array],
    network: Function,
    inputs: Mapping[str, str],
    loss: Loss,
    what: str = "data",
) -> ArraySamples:
    """Samples by the names of a network's parameters, of its element types.

    Parameters
    ----------
    inputs
        The parameters that are inputs, by the names that the arrays have.
    what
        What holds the arrays, in errors.

    Raises
    ------
    TrainingError
        An array is missing, has another shape than the network's, or values that its element type
        or the loss has not: NaN, infinity, numbers out of range, classes that there are none of;
        an index is of no row of a table that the network looks up, as a token of no vocabulary.
    """
    check_input_names(inputs)
    wanted = {TARGET: with_loss(network, loss).params[-1].type}
    types = {param.name: param.type for param in network.params}
    wanted |= {name: types[param] for name, param in inputs.items()}
    missing = [name for name in wanted if name not in arrays]
    if missing:
        raise TrainingError(
            f"{what}: no array {missing[0]}; there are {', '.join(arrays) or 'none'}, and "
            f"{', '.join(wanted)} are needed"
        )
    found = {}
    for name, type_ in wanted.items():
        assert isinstance(type_, TensorType), "inputs are tensors"
        rest = type_.static_shape(name)[1:]
        array = arrays[name]
        if array.shape[1:] != rest or not array.ndim:
            shape = ", ".join(["N", *map(str, rest)])
            raise TrainingError(f"{what}: {name} is {[*array.shape]}, and not [{shape}]")
        found[inputs.get(name, name)] = _as_type(array, type_.dtype, f"{what}: {name}")
    _check_indices(network, inputs, found, what)
    samples = ArraySamples(found)
    if not len(samples):
        raise TrainingError(f"{what}: there are no samples")
    if loss is Loss.BINARY_CROSS_ENTROPY:
        _check_range(found[TARGET], 0.0, 1.0, f"{what}: {TARGET}")
    if loss is Loss.CROSS_ENTROPY:
        classes = _classes(network, loss)
        low, high = int(found[TARGET].min()), int(found[TARGET].max())
        if low < 0 or high >= classes:
            bad = low if low < 0 else high
            raise TrainingError(f"{what}: {TARGET} has class {bad}: 0 to {classes - 1} are allowed")
    return samples


def _check_indices(
    network: Function, inputs: Mapping[str, str], found: Mapping[str, Array], what: str
) -> None:
    """Raise `TrainingError` where an index is out of range: a run would take the nearest row.

    Which inputs are indices, the network's graph says (`rows_of_tables`).
    """
    rows = rows_of_tables(network)
    for name, param in inputs.items():
        count, array = rows.get(param), found[param]
        if count is None:
            continue
        wrong = np.argwhere((array < -count) | (array >= count))
        if len(wrong):
            place = tuple(wrong[0])
            sample, *rest = (int(each) for each in place)
            where = f" at {rest}" if rest else ""
            raise TrainingError(
                f"{what}: {name} of sample {sample} has {array[place]}{where}, an index of a table "
                f"of {count} rows: {-count} to {count - 1} are allowed"
            )


def _classes(network: Function, loss: Loss) -> int:
    result = result_of(network)
    assert isinstance(result, TensorType), f"{loss} is of one output"
    return result.static_shape("the output")[-1]


def _as_type(array: Array, dtype: DType, what: str) -> Array:
    if array.dtype.kind not in "biuf":
        raise TrainingError(f"{what} holds {array.dtype}: numbers are needed")
    if array.dtype.kind == "f":
        if not dtype.is_float:
            raise TrainingError(f"{what} holds {array.dtype}: {dtype} is needed")
        if not np.isfinite(array).all():
            raise TrainingError(f"{what} has NaN or infinity")
    if dtype.is_float:
        limits = np.finfo(dtype.numpy)
        _check_range(array, float(limits.min), float(limits.max), what)
    elif dtype.numpy != np.bool_:
        whole = np.iinfo(dtype.numpy)
        _check_range(array, int(whole.min), int(whole.max), what)
    return array.astype(dtype.numpy)


def _check_range(array: Array, least: float, greatest: float, what: str) -> None:
    """Raise `TrainingError` where a value is out of a range, which conversion would change."""
    if not array.size:
        return
    # Python's numbers, which are compared exactly.
    low, high = array.min().item(), array.max().item()
    if not least <= low <= high <= greatest:
        bad = high if least <= low else low
        raise TrainingError(f"{what} has {bad}: {least} to {greatest} are allowed")
