"""The names by which a layer with weights may be called."""

from __future__ import annotations

from collections.abc import Iterable

from tandem.compiler.graph.nodes import Call, Function, Let
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.visit import all_lets
from tandem.compiler.quantise.compressed.results import owned_values
from tandem.compiler.quantise.points import tensor_name
from tandem.compiler.quantise.rules import RULES


def layer_names(program: Function, products: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The names of products, by their tensors' names: that of the tensor, those of the values that
    extend the product's sums, such as a bias, a residual sum or an activation, and those of the
    model's nodes. A sum of two products may be a name of both."""
    found: dict[str, dict[str, None]] = {name: {name: None} for name in products}
    for function in program.named.values():
        tensors = {
            let.name: tensor_name(program, function, let.name) for let in all_lets(function.body)
        }
        own = {name for name, tensor in tensors.items() if tensor in found}
        for let, owners in owned_values(function, own, _extends):
            node = None if let.node is None else let.node.name
            for owner in owners:
                names = filter(None, (tensors[let.name], let.source, node))
                found[tensors[owner]] |= dict.fromkeys(names)
    return {name: tuple(names) for name, names in found.items()}


def _extends(let: Let) -> bool:
    value = let.value
    if not isinstance(value, Call) or not isinstance(value.callee, OpSpec):
        return False
    rule = RULES.get(value.callee.name)
    return rule is not None and rule.extends
