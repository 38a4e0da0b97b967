"""Shapes of a model's inputs: as they are stated, and as arrays have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from onnx import ModelProto

from tandem.compiler.driver.compile_onnx import import_network, input_tensors
from tandem.compiler.errors import CompilerError
from tandem.compiler.frontends.onnx import (
    Imported,
    StatedShape,
    has_open_extents,
    input_names,
    stated_by_arrays,
)
from tandem.runtime.inputs import read_arrays
from tandem.runtime.inputs.batches import number_of_batches
from tandem.runtime.inputs.files import first_sample_file


def shapes_text(shapes: Sequence[StatedShape]) -> str:
    """Stated shapes as on a command line."""
    return " ".join(f"{each.name}={','.join(map(str, each.extents))}" for each in shapes)


def import_with_shapes(
    model: ModelProto,
    shapes: Sequence[StatedShape],
    offered: Mapping[str, NDArray[Any]],
    calibration: Path | None,
) -> Imported:
    """The model as a graph, with open extents as shapes, inputs and calibration state them.

    Parameters
    ----------
    offered
        Arrays of inputs. Several batches along their first axes are run one after the other;
        if they cannot be, the first extents that the model leaves open are the arrays'.

    Raises
    ------
    CompilerError
        As `import_network`.
    InputError
        As `read_arrays`.
    """
    stated = (*shapes, *_of_calibration(model, calibration))
    arrays = {name: array.shape for name, array in offered.items()}
    whole = stated_by_arrays(model, arrays, "--input", with_first=True)
    as_one = (*stated, *whole)
    several = any(each.extents[:1] not in ((), (None,), (1,)) for each in whole)
    try:
        imported = import_network(model, offered, stated)
    except CompilerError:
        if several:
            try:
                return import_network(model, offered, as_one)
            except CompilerError:
                pass  # The first error is about what was asked for.
        raise
    if several and not _are_batches(imported, offered):
        return import_network(model, offered, as_one)
    return imported


def _are_batches(imported: Imported, offered: Mapping[str, NDArray[Any]]) -> bool:
    """Whether arrays hold whole batches, equally many."""
    tensors = input_tensors(imported)
    counts = {number_of_batches(offered.get(tensor.name), tensor) for tensor in tensors}
    return len(counts) == 1 and 0 not in counts


def _of_calibration(model: ModelProto, path: Path | None) -> tuple[StatedShape, ...]:
    """What the first sample says of open extents; pictures, which are resized, say nothing."""
    if path is None or not has_open_extents(model):
        return ()
    arrays = read_arrays([first_sample_file(path)], input_names(model))
    shapes = {name: array.shape for name, array in arrays.items()}
    return stated_by_arrays(model, shapes, "--calibrate")
