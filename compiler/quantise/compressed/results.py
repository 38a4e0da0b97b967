"""The values that are computed with the weights of a layer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from tandem.compiler.graph.nodes import Function
from tandem.compiler.graph.visit import all_lets, names_of
from tandem.compiler.quantise.compressed.layer_weights import LayerWeights


def with_results(function: Function, found: Iterable[LayerWeights]) -> tuple[LayerWeights, ...]:
    """The layers with the names of their results: a product's own, and those of values that are
    made from it and from no later product, up to the next one.

    A sum of two products belongs to those that nothing else reads, one of whose accumulators takes
    the other as its residual; where all are read elsewhere too, to the last.
    """
    layers = {each.layer: each for each in found}
    owners: dict[str, tuple[str, ...]] = {}
    results: dict[str, dict[str, None]] = {name: {} for name in layers}
    lets = [*all_lets(function.body)]
    places = {let.name: place for place, let in enumerate(lets)}
    uses = Counter(name for let in lets for name in names_of(let.value))
    for let in lets:
        operands = sorted(
            (name for name in names_of(let.value) if name in owners), key=places.__getitem__
        )
        alone = [name for name in operands if uses[name] == 1] or operands[-1:]
        together = dict.fromkeys(owner for name in alone for owner in owners[name])
        owners[let.name] = (let.name,) if let.name in layers else tuple(together)
        for owner in owners[let.name]:
            results[owner].setdefault(let.source)
    return tuple(replace(layer, results=tuple(results[name])) for name, layer in layers.items())
