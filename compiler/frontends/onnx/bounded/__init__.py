"""Operators on tensors whose extents are known only when the network runs.

`NonZero(x)` has a column for each element of `x` that is not 0. If `x` depends on the network's
inputs, the tensor in the graph has as many columns as there can be, and a scalar beside it is the
count: behind so many columns lies padding, of any values. The shapes of the graph stay numbers that
way, and results are cut to their counts in the end (`runtime.artifact.counts`).

An operator may have such a tensor as operand if it has a rule here: no element of its result that
counts depends on padding then, and the rule finds the counts of its results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from tandem.compiler.errors import FrontendError, UnknownValueError
from tandem.compiler.frontends.onnx.bounded import axes, shapes
from tandem.compiler.frontends.onnx.bounded.rule import Results, Rule, along
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.elementwise import ELEMENTWISE
from tandem.compiler.frontends.onnx.operators.reductions import REDUCTIONS

__all__ = ["counted"]


def counted(node: Node, convert: Callable[[], Results]) -> Results:
    """The results of a node with their counts; `convert` finds them without.

    Raises
    ------
    UnknownValueError
        An operand has a bounded axis, and the operator has no rule for it.
    """
    bounded = [(at, axis) for at in range(node.operands) for axis in node.counts(at)]
    if not bounded:
        return convert()
    if node.operator not in RULES:
        node.refuse_bounded(*bounded[0])
    try:
        return RULES[node.operator](node, convert())
    except UnknownValueError:
        raise
    except FrontendError:
        # The greatest extents do not fit, which says nothing about the true ones.
        node.refuse_bounded(*bounded[0])


RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        **dict.fromkeys((*ELEMENTWISE, "Clip"), along(axes.broadcast, broadcasts=True)),
        **dict.fromkeys(
            ("BitCast", "Cast", "CastLike", "Dropout", "Identity"),
            along(axes.first),
        ),
        **dict.fromkeys(
            (
                *("AveragePool", "BatchNormalization", "Conv", "ConvTranspose"),
                *("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "InstanceNormalization"),
                *("LRN", "LpPool", "MaxPool", "DepthToSpace", "SpaceToDepth"),
            ),
            along(axes.rows),
        ),
        **dict.fromkeys(
            ("Hardmax", "LogSoftmax", "LpNormalization", "Softmax", "Split"),
            along(axes.except_axis),
        ),
        **dict.fromkeys(("LayerNormalization", "RMSNormalization"), along(axes.before_axis)),
        **dict.fromkeys(REDUCTIONS, along(axes.reduced)),
        **dict.fromkeys(("ArgMax", "ArgMin"), along(axes.arg)),
        "Concat": along(axes.joined),
        "Flatten": shapes.flattened,
        "Gather": along(axes.gathered),
        "GatherElements": along(axes.gathered_elements),
        "GatherND": along(axes.gathered_nd),
        "Gemm": along(axes.gemm, broadcasts=True),
        "MatMul": along(axes.multiplied, broadcasts=True),
        "OneHot": along(axes.encoded),
        "Reshape": shapes.reshaped,
        "RoiAlign": along(axes.boxes),
        "ScatterElements": shapes.scattered,
        "ScatterND": shapes.scattered,
        "Shape": shapes.shape,
        "Size": shapes.size,
        "Slice": shapes.sliced,
        "Squeeze": along(axes.squeezed),
        "TopK": along(axes.sorted_),
        "Transpose": along(axes.transposed),
        "Unsqueeze": along(axes.unsqueezed),
    }
)
"""The operators that take bounded tensors."""
