"""What layers cost on a machine, where formats of weights are chosen for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tandem.compiler.quantise.compressed.layer_weights import LayerWeights


@dataclass(frozen=True, slots=True)
class LayerCost:
    """What a layer costs on a machine with the weights that it has.

    Attributes
    ----------
    amount
        Of the unit, which is that of all layers.
    unit
        `cycles`, or `bytes` where time is not known.
    bound
        What takes them: `its products`, `the bus`.
    int8
        Why the machine has the weights as int8 although the graph has codes; else empty.
    """

    amount: float
    unit: str
    bound: str
    int8: str = ""

    def __str__(self) -> str:
        return f"{self.amount:,.0f} {self.unit}"


def by_product(
    costs: Mapping[str, LayerCost], weights: Iterable[LayerWeights]
) -> dict[str, LayerCost]:
    """The costs of layers by the names of their products, from those by the names of results.

    Of the layers behind a product the one that has the product counts: the first.
    """
    found = {}
    for layer in weights:
        names = [name for name in (layer.layer, *layer.results) if name in costs]
        if names:
            found[layer.layer] = costs[names[0]]
    return found
