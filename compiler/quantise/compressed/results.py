"""The values that are computed with the weights of a layer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

from tandem.compiler.graph.nodes import Call, Function, Let
from tandem.compiler.graph.visit import all_lets, names_of
from tandem.compiler.quantise.compressed.layer_weights import LayerWeights
from tandem.compiler.quantise.compressed.products import PRODUCTS


def owned_values(
    function: Function, products: Collection[str], follows: Callable[[Let], bool]
) -> Iterator[tuple[Let, tuple[str, ...]]]:
    """The values of a function, each with the products that it belongs to: a product to itself, and
    a value that is made from it to it, up to the next product.

    A sum of two products belongs to those that nothing else reads, one of whose accumulators takes
    the other as its residual; where all are read elsewhere too, to the last.

    Parameters
    ----------
    follows
        Whether a value belongs to what its operands belong to; else it belongs to nothing.
    """
    owners: dict[str, tuple[str, ...]] = {}
    lets = [*all_lets(function.body)]
    places = {let.name: place for place, let in enumerate(lets)}
    uses = Counter(name for let in lets for name in names_of(let.value))
    for let in lets:
        operands = sorted(
            (name for name in names_of(let.value) if name in owners), key=places.__getitem__
        )
        alone = [name for name in operands if uses[name] == 1] or operands[-1:]
        together = dict.fromkeys(owner for name in alone for owner in owners[name])
        if let.name in products:
            owners[let.name] = (let.name,)
        else:
            owners[let.name] = tuple(together) if follows(let) else ()
        yield let, owners[let.name]


def with_results(function: Function, found: Iterable[LayerWeights]) -> tuple[LayerWeights, ...]:
    """The layers with the names of their results, as `owned_values` has them; a product of other
    values, which has no weights, is no result."""
    layers = {each.layer: each for each in found}
    results: dict[str, dict[str, None]] = {name: {} for name in layers}
    for let, owners in owned_values(function, layers.keys(), _multiplies_nothing):
        for owner in owners:
            results[owner].setdefault(let.source)
    return tuple(replace(layer, results=tuple(results[name])) for name, layer in layers.items())


def _multiplies_nothing(let: Let) -> bool:
    return not (isinstance(let.value, Call) and let.value.callee.name in PRODUCTS)
