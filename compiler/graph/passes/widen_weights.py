"""The pass that widens compressed weights for layers that would not read them as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Atom, Body, Call, Function, Let, Var
from tandem.compiler.graph.operators.compressed import Widen
from tandem.compiler.graph.types import Type
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import (
    all_lets,
    map_functions,
    names_of,
    rename,
    renamed,
    rewrite_bodies,
)
from tandem.hw.weight_formats import WeightFormat, spread_scales


@dataclass(frozen=True, slots=True)
class WidenWeights:
    """Replaces compressed constant weights by the int8 constants that they widen to, unless all
    that reads them takes them compressed.

    ::

        w = widen(uint4[16, 32](...), uint4[16, 1](...))      ->    y = dense(x, int8[16, 32](...))
        y = dense(x, w)

    The numbers are the same; what is lost is memory and traffic.

    Attributes
    ----------
    keeps
        Whether an operator, with a result of a type, takes compressed weights as they are.
    """

    keeps: Callable[[Call, Type], bool]
    name: str = "widen-weights"

    def apply(self, function: Function) -> Function:
        """The function with int8 constants."""
        verify(function)
        return map_functions(function, self._function)

    def _function(self, function: Function) -> Function:
        constants: dict[str, Atom] = {}
        widened = {let.name: let for let in all_lets(function.body) if _is_constant(let)}
        if not widened:
            return function
        types = infer(function)
        for let in all_lets(function.body):
            for name in names_of(let.value) & widened.keys():
                if not isinstance(let.value, Call) or not self.keeps(let.value, types[let.name]):
                    constants[name] = _widened(widened[name])
        if isinstance(function.body.result, Var) and function.body.result.name in widened:
            name = function.body.result.name
            constants[name] = _widened(widened[name])
        if not constants:
            return function

        def changed(body: Body) -> Body:
            lets = (
                replace(let, value=rename(let.value, constants))
                for let in body.lets
                if let.name not in constants
            )
            return Body(tuple(lets), renamed(body.result, constants))

        return replace(function, body=rewrite_bodies(function.body, changed))


def _is_constant(let: Let) -> bool:
    # Numbers of blocks are real; no machine but the host computes with them.
    return (
        isinstance(let.value, Call)
        and isinstance(let.value.attributes, Widen)
        and all(isinstance(operand, Constant) for operand in let.value.args)
    )


def _widened(let: Let) -> Constant:
    """The int8 values of compressed constants."""
    assert isinstance(let.value, Call), "it widens"
    attributes = let.value.attributes
    assert isinstance(attributes, Widen), "verified"
    codes, *scales = (
        operand.array.astype(np.uint8)
        for operand in let.value.args
        if isinstance(operand, Constant)
    )
    bits = len(attributes.table).bit_length() - 1
    form = WeightFormat("of a table", bits, attributes.table, scaled=bool(scales))
    spread = codes
    if scales:
        axis = attributes.axis
        spread = spread_scales(scales[0], attributes.group, axis, codes.shape[axis])
    return Constant(form.widened(codes, spread))
