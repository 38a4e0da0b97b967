"""Models in which shapes depend on the values of inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.shape_inference import infer_shapes

from tests.support.compiler.frontends.onnx_models import Array

SHAPE = (3, 4)
"""The shape of the input."""
make = helper.make_node

_FIRST = (
    make("NonZero", ["x"], ["p"]),
    make("Transpose", ["p"], ["t"]),
    make("Cast", ["t"], ["f"], to=TensorProto.FLOAT),
    make("GatherND", ["x", "t"], ["v"]),
)


def bounded_model(
    nodes: Sequence[NodeProto],
    weights: Mapping[str, Array],
    outputs: Sequence[str] = ("y",),
    opset: int = 18,
) -> ModelProto:
    """A model of nodes after those that find what is not 0 in `x`, float32 of `SHAPE`.

    Their results, each with one extent c of 12 or less: the positions `p` [2, c] and `t` [c, 2], as
    floats `f` [c, 2], and the elements `v` [c].
    """
    graph = helper.make_graph(
        [*_FIRST, *nodes],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)],
        [helper.make_value_info(name, helper.make_tensor_type_proto(0, None)) for name in outputs],
        [numpy_helper.from_array(np.asarray(each), name) for name, each in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    found: ModelProto = infer_shapes(model)
    for info in found.graph.output:
        if not info.type.tensor_type.HasField("shape"):
            # The checker wants a shape where none is inferred.
            info.CopyFrom(helper.make_tensor_value_info(info.name, TensorProto.FLOAT, [None]))
    return found


def sparse(seed: int, count: int) -> Array:
    """An input with `count` elements that are not 0."""
    random = np.random.default_rng(seed)
    found = np.zeros(12, np.float32)
    found[random.permutation(12)[:count]] = random.standard_normal(count)
    return found.reshape(SHAPE)
