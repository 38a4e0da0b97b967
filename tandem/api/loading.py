"""`tandem.load`: models from names, files, ONNX in memory, and modules of PyTorch."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from onnx import ModelProto

from tandem.api.model import Model
from tandem.api.torch_export import exported, is_torch_module
from tandem.compiler.errors import FrontendError
from tandem.compiler.frontends.onnx import StatedShape
from tandem.compiler.frontends.onnx.reading import read_model
from tandem.workbench.arguments import at_least, expect, file_path, value_errors
from tandem.workbench.errors import ArgumentTypeError, ModelError
from tandem.workbench.models import ModelOptions, ReadModel, read_named, source_of

Loadable: TypeAlias = str | os.PathLike[str] | ModelProto | Any
"""A built-in name, a path, an ONNX model, or a `torch.nn.Module`."""


def load(
    model: Loadable,
    *,
    inputs: Mapping[str, ArrayLike] | Sequence[Any] | None = None,
    shapes: Mapping[str, int | Sequence[int]] | None = None,
    seed: int = 0,
) -> Model:
    """A model that can be compiled.

    >>> print(load("digits").name)
    digits

    Parameters
    ----------
    model
        The name of a built-in network (`digits`, `resnet18`, ...), the path of an ONNX file, an
        `onnx.ModelProto`, or a `torch.nn.Module`, which PyTorch exports.
    inputs
        Arrays by the names of inputs: those whose values have to be known, such as shapes, become
        constants; extents that the model leaves open are the arrays'. Of a module of PyTorch the
        example inputs, as it is called with them.
    shapes
        The shapes of inputs whose extents the model leaves open, by name; or of one open extent,
        by its name, its number.
    seed
        Of the random weights of a built-in network, and of noise that scales are measured with.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        Something else than is allowed; a name that is neither a network nor a file.
    MissingPackageError
        PyTorch, or what its exporter needs, is not installed.
    CompilerError
        The model cannot be read, or something in it is not supported.
    """
    seed = at_least("seed", seed, 0)
    named: str | None = None
    offered: Mapping[str, ArrayLike] | None
    if is_torch_module(model):
        if inputs is None or isinstance(inputs, Mapping):
            expect("inputs", inputs, "a tuple of example inputs for a module of PyTorch")
        read = in_memory(exported(model, tuple(inputs)), type(model).__name__, seed)
        offered = None
    else:
        if inputs is not None and not isinstance(inputs, Mapping):
            expect("inputs", inputs, "a mapping from names of inputs to arrays")
        offered = inputs
        if isinstance(model, ModelProto):
            read = in_memory(read_model(model), model.graph.name or "model", seed)
        elif isinstance(model, str | os.PathLike):
            named = model if isinstance(model, str) else str(file_path("model", model))
            with value_errors(ModelError):
                read = read_named(named, seed)
        else:
            allowed = "a built-in name, a path, an onnx.ModelProto or a torch.nn.Module"
            expect("model", model, allowed)
    options = ModelOptions(seed=seed, shapes=tuple(_stated(shapes)))
    arrays = {name: np.asarray(array) for name, array in (offered or {}).items()}
    return Model(read, options, source_of(read, options, arrays), named)


def model_of(model: Model | Loadable) -> Model:
    """The model of an argument: one that was loaded, or what `load` takes."""
    return model if isinstance(model, Model) else load(model)


def in_memory(proto: ModelProto, name: str, seed: int) -> ReadModel:
    """A model that is in no file; its digest is that of its bytes."""
    try:
        content = proto.SerializeToString(deterministic=True)
    except ValueError as error:
        raise FrontendError(f"{name}: {error}") from error
    return ReadModel(proto, name, hashlib.sha256(content).hexdigest(), seed)


def _stated(shapes: Mapping[str, int | Sequence[int]] | None) -> list[StatedShape]:
    found = []
    for name, shape in (shapes or {}).items():
        try:
            extents = (shape,) if isinstance(shape, int) else tuple(shape)
            numbers = tuple(at_least(f"shapes[{name!r}]", extent, 0) for extent in extents)
        except ArgumentTypeError:
            raise
        except TypeError:
            expect(f"shapes[{name!r}]", shape, "a number or a sequence of numbers")
        found.append(StatedShape(name, numbers, "shapes"))
    return found
