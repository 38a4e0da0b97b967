"""The convolutions of a model, as layers to measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from onnx import ModelProto

from tandem.compiler.driver.compile_onnx import import_network
from tandem.compiler.frontends.onnx import StatedShape, read_model
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Call, Function, Var
from tandem.compiler.graph.operators.products import Conv2d
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.types import TensorType
from tandem.compiler.models import BUILT_IN, built_in
from tandem.workbench.errors import ConvolutionError
from tandem.workbench.models import model_file
from tandem.workbench.utilization.conv_layers import ConvLayer


def layers_of(
    model: str, seed: int = 0, shapes: Sequence[StatedShape] = ()
) -> tuple[tuple[ConvLayer, ...], tuple[str, ...]]:
    """The convolutions of a model that can be measured, and the names of those that cannot.

    Equal convolutions become one layer, with their count and the name of the first convolution.
    Convolutions can be measured if they have square windows and equal strides, the same padding on
    all sides, one group and no dilation. An open batch is 1; `shapes` state other open extents.

    Raises
    ------
    CompilerError
        The errors of `import_network`.
    ConvolutionError
        A model without any such convolution.
    """
    proto: ModelProto = (
        built_in(model, seed) if model in BUILT_IN else read_model(model_file(model))
    )
    return convolutions_of(import_network(proto, stated=shapes).function, model)


def convolutions_of(
    function: Function, model: str
) -> tuple[tuple[ConvLayer, ...], tuple[str, ...]]:
    """The same of a model that was imported; `model` is its name in errors."""
    types = infer(function)
    found: dict[ConvLayer, int] = {}
    names: dict[ConvLayer, str] = {}
    left: list[str] = []
    for let in function.body.lets:
        match let.value:
            case Call(callee=OpSpec(name="conv2d"), args=args, attributes=Conv2d() as attributes):
                data, weight = (
                    types[arg.name] if isinstance(arg, Var) else arg.type for arg in args[:2]
                )
                layer = _layer(let.name, data, weight, attributes)
                if layer is None:
                    left.append(let.name)
                    continue
                shape = replace(layer, name="")
                found[shape] = found.get(shape, 0) + 1
                names.setdefault(shape, layer.name)
            case _:
                pass
    if not found:
        raise ConvolutionError(f"{model} has no convolution that can be measured alone")
    layers = (replace(shape, name=names[shape], count=count) for shape, count in found.items())
    return tuple(layers), tuple(left)


def _layer(name: str, data: object, weight: object, attributes: Conv2d) -> ConvLayer | None:
    """A convolution as a layer to measure; None if it cannot be measured."""
    assert isinstance(data, TensorType), "verified"
    assert isinstance(weight, TensorType), "verified"
    batch, _, height, width = data.static_shape(name)
    outputs, inputs, tall, wide = weight.static_shape(name)
    alike = tall == wide and len({*attributes.strides}) == len({*attributes.padding}) == 1
    if not alike or attributes.groups != 1 or {*attributes.dilation} != {1} or batch != 1:
        return None
    return ConvLayer(
        name, height, width, inputs, outputs, tall, attributes.strides[0], attributes.padding[0]
    )
