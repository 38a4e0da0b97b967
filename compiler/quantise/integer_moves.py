"""The pass that moves what models do to quantised integers into real numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Atom, Body, Call, Function, Let, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.quantised import Dequantise, Quantise
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.verify import verify

MOVES: Final = frozenset(
    {
        *("depth_to_space", "expand", "flatten", "max_pool", "reshape", "slice"),
        *("space_to_depth", "squeeze", "tile", "transpose", "unsqueeze", "upsample"),
    }
)
"""Operators that take every element of their result from their only operand."""


@dataclass(frozen=True, slots=True)
class _Scale:
    """The scale and zero point that integers have, numbers both."""

    step: Atom
    zero: Atom
    attributes: Quantise


@dataclass(frozen=True, slots=True)
class IntegerMoves:
    """Moves operators on quantised integers between `dequantise` and `quantise`.

    ::

        q = quantise(x, s, z)               q = quantise(x, s, z)
        p = max_pool(q)              ->     r = dequantise(q, s, z)
                                            m = max_pool(r)
                                            p = quantise(m, s, z)

    Models in ONNX Runtime's QOperator format pool and reshape integers; a QDQ model does the same
    to real numbers, and stays on the accelerator for it. Elements are the same: real numbers of one
    scale have the order of their integers, and go back to the same integers.
    """

    name: str = "integer-moves"

    def apply(self, function: Function) -> Function:
        """The function with all such operators in real numbers."""
        taken = set(verify(function))
        scales: dict[str, _Scale] = {}
        lets: list[Let] = []
        for let in function.body.lets:
            match let.value:
                case Call(
                    callee=OpSpec(name="quantise"),
                    args=(_, Constant() as step, Constant() as zero),
                    attributes=Quantise() as attributes,
                ) if step.array.size == 1:
                    scales[let.name] = _Scale(step, zero, attributes)
                    lets.append(let)
                case Call(callee=OpSpec(name=operator), args=(Var(name=data),)) as call if (
                    operator in MOVES and data in scales
                ):
                    scale = scales[let.name] = scales[data]
                    lets += _moved(let, call, scale, taken)
                case _:
                    lets.append(let)
        return replace(function, body=Body(tuple(lets), function.body.result))


def _moved(let: Let, call: Call, scale: _Scale, taken: set[str]) -> list[Let]:
    """The bindings that do in real numbers what one does to integers."""
    real, moved = (unique_name(f"{let.name}_{part}", taken) for part in ("real", "moved"))
    constants = (scale.step, scale.zero)
    to = Dequantise(scale.attributes.axis)
    return [
        Let(real, Call(OPERATORS["dequantise"], (*call.args, *constants), to)),
        Let(moved, replace(call, args=(Var(real),)), origin=let.source),
        replace(
            let,
            value=Call(OPERATORS["quantise"], (Var(moved), *constants), scale.attributes),
        ),
    ]
