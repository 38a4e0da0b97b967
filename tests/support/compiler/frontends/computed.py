"""Nodes of ONNX's operators converted alone, and what they give."""

from __future__ import annotations

from typing import Any

import numpy as np

from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.nodes import Function, Param, Tuple, Var
from tandem.compiler.graph.types import TupleType
from tandem.compiler.ir.dtypes import dtype_of
from tests.support.compiler.frontends.converted import Converted
from tests.support.compiler.operators.operators import Array


def computed(
    converters: Any, operator: str, opset: int, *arrays: Array, outputs: int = 1, **given: Any
) -> list[Array]:
    """The results of a node on inputs, without the padding behind their counts."""
    made = Converted(converters)
    values = [made.value(*each.shape, dtype=dtype_of(each.dtype.name)) for each in arrays]
    results = made.node(operator, opset, *values, outputs=outputs, used=outputs, **given)
    counts = [
        (at, axis, count.size)
        for at, result in enumerate(results)
        for axis, count in result.counts.items()
    ]
    every = [*results, *(size for _, _, size in counts)]
    items = tuple(made.builder.atom(each) for each in every)
    whole = made.builder.bind(Tuple(items), TupleType(tuple(each.type for each in every)))
    params = [each.atom for each in values]
    function = Function(
        "f",
        tuple(
            Param(atom.name, value.type)
            for atom, value in zip(params, values, strict=True)
            if isinstance(atom, Var)
        ),
        made.builder.body("it", whole),
    )
    found = [np.asarray(each) for each in evaluate(function, list(arrays))]
    for (at, axis, _), size in zip(counts, found[len(results) :], strict=True):
        found[at] = np.take(found[at], range(int(size)), axis)
    return found[: len(results)]
