"""ONNX models whose weights are parameters, and models with other weights."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from tandem.compiler.frontends.onnx import StatedShape, import_model, input_names
from tandem.compiler.graph.nodes import Function
from tandem.workbench.errors import TrainingError
from tandem.workbench.training.samples import Array

_SETTINGS: Final[Mapping[str, tuple[int, ...]]] = {
    "BatchNormalization": (3, 4),
    "Clip": (1, 2),
    "DequantizeLinear": (1, 2),
    "Dropout": (1,),
    "Pad": (2,),
    "Pow": (1,),
    "QuantizeLinear": (1, 2),
    "Resize": (1, 2),
    "Upsample": (1,),
}
"""Operands that are no weights: settings, and statistics of a batch normalisation, which is
computed as in a run."""


@dataclass(frozen=True, slots=True, eq=False)
class Trainable:
    """A model that can be trained.

    Attributes
    ----------
    function
        The network, a function of the model's inputs and its weights.
    inputs
        The parameters that are inputs of the model, by the model's names.
    weights
        The weights that the model has, by the names of parameters.
    """

    model: ModelProto
    function: Function
    inputs: Mapping[str, str]
    weights: Mapping[str, Array]
    _names: Mapping[str, str]

    def with_weights(self, weights: Mapping[str, Array]) -> ModelProto:
        """The model with other weights, by the names of parameters."""
        found = ModelProto()
        found.CopyFrom(self.model)
        for tensor in found.graph.initializer:
            param = self._names.get(tensor.name)
            if param is not None and param in weights:
                tensor.CopyFrom(numpy_helper.from_array(weights[param], tensor.name))
        return found

    def random_weights(self, seed: int) -> dict[str, Array]:
        """Weights to begin with, drawn at random: of products normal, with a variance of 2 by the
        number of inputs (He et al., ICCV 2015), their biases 0; others are the model's."""
        random = np.random.default_rng(seed)
        found = {}
        for name, param in self._names.items():
            given = self.weights[param]
            fan_in = _inputs_of_product(self.model.graph.node, name, given.shape)
            if fan_in is not None:
                drawn = random.standard_normal(given.shape) * np.sqrt(2.0 / fan_in)
                found[param] = drawn.astype(np.float32)
            elif _is_bias(self.model.graph.node, name):
                found[param] = np.zeros_like(given)
            else:
                found[param] = given
        return found


def trainable(
    model: ModelProto,
    batch: int,
    shapes: Sequence[StatedShape] = (),
    freeze: Collection[str] = (),
) -> Trainable:
    """The model with its weights as parameters: float32 initialisers of more than one element that
    are no settings of operators.

    Parameters
    ----------
    batch
        The first extent of all inputs whose first extent is open.
    shapes
        Of inputs with other open extents.
    freeze
        Names of initialisers that stay as they are; `*` stands for any characters.

    Raises
    ------
    TrainingError
        The model has no weights, or a name of `freeze` is that of none.
    CompilerError
        The model is not legal, or something in it is not supported.
    """
    settings = {
        node.input[at]
        for node in model.graph.node
        for at in _SETTINGS.get(node.op_type, ())
        if at < len(node.input)
    }
    found = {
        tensor.name: tensor
        for tensor in model.graph.initializer
        if tensor.data_type == TensorProto.FLOAT
        and tensor.name not in settings
        and (np.prod(tensor.dims, dtype=np.int64) > 1 or _is_of_product(model, tensor))
    }
    for pattern in freeze:
        named = [name for name in found if fnmatchcase(name, pattern)]
        if not named:
            raise TrainingError(f"no weights are called {pattern}: there are {_shown(found)}")
        for name in named:
            del found[name]
    if not found:
        raise TrainingError(f"the model {model.graph.name} has no weights to train")
    known = {value.name for value in model.graph.input}
    changed = ModelProto()
    changed.CopyFrom(model)
    kept = [each for each in model.graph.initializer if each.name not in found]
    del changed.graph.initializer[:]
    changed.graph.initializer.extend(kept)
    for name, tensor in found.items():
        if name not in known:
            shape = [*tensor.dims]
            changed.graph.input.append(
                helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            )
    own = [name for name in input_names(changed) if name not in found]
    stated = {each.name for each in shapes}
    batches = [
        StatedShape(name, (batch, *rest))
        for name, rest in _open_batches(changed, own, shapes)
        if name not in stated
    ]
    imported = import_model(changed, stated=(*shapes, *batches))
    params = [param.name for param in imported.function.params]
    names = dict(zip(imported.inputs, params, strict=True))
    return Trainable(
        model,
        imported.function,
        {name: names[name] for name in own if name in names},
        {names[name]: _array(tensor) for name, tensor in found.items()},
        {name: names[name] for name in found},
    )


def stated_batch(model: ModelProto) -> int | None:
    """The first extent of all inputs, where the model states one; None where it is open, or
    differs."""
    own = {*input_names(model)}
    found = {
        value.type.tensor_type.shape.dim[0].dim_value
        for value in model.graph.input
        if value.name in own and value.type.tensor_type.shape.dim
    }
    return next(iter(found)) or None if len(found) == 1 else None


def _open_batches(
    model: ModelProto, own: Collection[str], shapes: Sequence[StatedShape]
) -> list[tuple[str, tuple[int | None, ...]]]:
    """The inputs whose first extent alone is open and not stated, and their other extents."""
    stated = {shape.name: shape.extents[0] for shape in shapes if len(shape.extents) == 1}
    found = []
    for value in model.graph.input:
        extents = [
            extent.dim_value if extent.HasField("dim_value") else stated.get(extent.dim_param)
            for extent in value.type.tensor_type.shape.dim
        ]
        if value.name in own and extents and extents[0] is None and None not in extents[1:]:
            found.append((value.name, tuple(extents[1:])))
    return found


def _array(tensor: TensorProto) -> Array:
    return np.array(numpy_helper.to_array(tensor), np.float32)


def _inputs_of_product(nodes: Sequence[NodeProto], name: str, shape: tuple[int, ...]) -> int | None:
    """The number of inputs of a product's outputs, whose weights these are; None if of none."""
    for node in nodes:
        if len(node.input) < 2 or node.input[1] != name:
            continue
        attributes = {each.name: each for each in node.attribute}
        match node.op_type:
            case "Conv":
                return int(np.prod(shape[1:]))
            case "ConvTranspose":
                return int(shape[0] * np.prod(shape[2:]))
            case "Gemm":
                transposed = "transB" in attributes and attributes["transB"].i
                return shape[1] if transposed else shape[0]
            case "MatMul" if len(shape) >= 2:
                return shape[-2]
    return None


def _is_of_product(model: ModelProto, tensor: TensorProto) -> bool:
    """Whether a tensor is weights or a bias of a product: then it is trained even if it is a single
    number, as those of a layer with one output are."""
    nodes, shape = model.graph.node, tuple(tensor.dims)
    return _is_bias(nodes, tensor.name) or _inputs_of_product(nodes, tensor.name, shape) is not None


def _is_bias(nodes: Sequence[NodeProto], name: str) -> bool:
    products = ("Conv", "ConvTranspose", "Gemm")
    return any(
        node.op_type in products and len(node.input) > 2 and node.input[2] == name for node in nodes
    )


def _shown(names: Collection[str]) -> str:
    first = [*names][:8]
    return ", ".join(first) + (f" and {len(names) - 8} others" if len(names) > 8 else "")
