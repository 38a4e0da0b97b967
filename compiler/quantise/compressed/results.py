"""The values that are computed with the weights of a layer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tandem.compiler.graph.nodes import Function
from tandem.compiler.graph.visit import all_lets, names_of
from tandem.compiler.quantise.compressed.layer_weights import LayerWeights


def with_results(function: Function, found: Iterable[LayerWeights]) -> tuple[LayerWeights, ...]:
    """The layers with the names of their results: a product's own, and those of values that are
    made from it and from no later product, up to the next one.

    A sum of two products belongs to its first operand, whose accumulator takes the other as its
    residual.
    """
    layers = {each.layer: each for each in found}
    owners: dict[str, str] = {}
    results: dict[str, dict[str, None]] = {name: {} for name in layers}
    for let in all_lets(function.body):
        operands = (owners[name] for name in names_of(let.value) if name in owners)
        owner = let.name if let.name in layers else next(operands, None)
        if owner is not None:
            owners[let.name] = owner
            results[owner].setdefault(let.source)
    return tuple(replace(layer, results=tuple(results[name])) for name, layer in layers.items())
