"""What the layers of a quantised network cost on a CPU: the bytes of their weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tandem.compiler.driver.build import Backends, offloading_passes
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Call, Function, Let, Var
from tandem.compiler.graph.operators.compressed import Widen
from tandem.compiler.graph.passes import transform
from tandem.compiler.graph.visit import all_lets
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.plan.target import Target
from tandem.compiler.quantise.compressed.layer_costs import LayerCost

_READ: Final = ("bytes", "memory")
_NOBODY: Final = "nothing widens weights of this operator here"
_WIDTHS: Final = {"bool": 1, "uint2": 2, "uint4": 4}
"""The bits of an element, of those that are packed."""


def weight_bytes(function: Function, target: Target[CpuTarget]) -> dict[str, LayerCost]:
    """The bytes of weights that are read for a layer, by its name: of codes where the processor
    takes them, else of the int8 numbers that they widen to.

    Time is not known: a layer's weights come from memory or from a cache.
    """
    found: dict[str, LayerCost] = {}
    made = transform(function, [*offloading_passes(function, (target,), Backends())])
    for one in made.named.values():
        lets = {let.name: let for let in all_lets(one.body)}
        for let in lets.values():
            if isinstance(let.value, Call) and let.value.callee.name in ("conv2d", "dense"):
                _, weight, *_ = let.value.args
                match weight:
                    case Constant():
                        found[let.source] = LayerCost(weight.array.size, *_READ, _NOBODY)
                    case Var(name) if (size := _packed(lets, name)) is not None:
                        found[let.source] = LayerCost(size, *_READ)
    return found


def _packed(lets: Mapping[str, Let], name: str) -> float | None:
    """The bytes of constants that are widened to a value; None for another value."""
    let = lets.get(name)
    if let is None or not isinstance(let.value, Call):
        return None
    if not isinstance(let.value.attributes, Widen):
        return None
    constants = [operand for operand in let.value.args if isinstance(operand, Constant)]
    bits = (each.array.size * _WIDTHS[str(each.type.dtype)] for each in constants)
    return -(-sum(bits) // 8)
