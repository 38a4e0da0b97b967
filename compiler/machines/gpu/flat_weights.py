"""Weights of convolutions as matrices, whose rows a GPU loads several elements at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import prod

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Atom, Body, Call, Function, Let, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.shapes import Reshape
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import all_lets, map_functions, names_taken, rewrite_bodies
from tandem.compiler.ir.dtypes import FLOAT32

_RESHAPE = OPERATORS["reshape"]
_LEAST_VECTOR = 2
"""Elements that are loaded at once."""


@dataclass(frozen=True, slots=True)
class FlatWeights:
    """Stores the constant weights of convolutions with windows, bytes or halves, as matrices: a row
    for each channel of the result.

    ::

        y = conv2d(x, int8[64, 32, 3, 3](...))

        ->

        w = reshape(int8[64, 288](...), shape=[64, 32, 3, 3])
        y = conv2d(x, w)

    `Fuse` puts the reshape into the layer's kernel, as `layers_widen` says, and below a cast of the
    layer's own, if there is one. There a term's channel, row and column in the window are again the
    number that they were computed from: neighbours among terms are neighbours in memory.
    """

    name: str = "flat-weights"

    def apply(self, function: Function) -> Function:
        """The function with reshaped weights."""
        verify(function)
        return map_functions(function, _function)


def _function(function: Function) -> Function:
    if not any(_weight(let) is not None for let in all_lets(function.body)):
        return function
    changed = partial(_body, taken=names_taken(function))
    return replace(function, body=rewrite_bodies(function.body, changed))


def _body(body: Body, taken: set[str]) -> Body:
    read = {weight.name for let in body.lets if isinstance(weight := _weight(let), Var)}
    lets: list[Let] = []
    for let in body.lets:
        match let.value:
            case Call(callee=OpSpec(name="cast"), args=(Constant() as weight,)) as value if (
                let.name in read
            ):
                number = 0
            case Call(callee=OpSpec(name="conv2d"), args=(_, Constant() as weight, *_)) as value:
                number = 1
            case _:
                lets.append(let)
                continue
        if _is_flattened(weight):
            name = unique_name(f"{let.name}_flat", taken)
            lets.append(Let(name, _reshaped(weight)))
            args: list[Atom] = [*value.args]
            args[number] = Var(name)
            let = replace(let, value=replace(value, args=tuple(args)))
        lets.append(let)
    return Body(tuple(lets), body.result)


def _weight(let: Let) -> Atom | None:
    """The weight of a convolution; None for any other operator."""
    match let.value:
        case Call(callee=OpSpec(name="conv2d"), args=(_, weight, *_)):
            return weight
        case _:
            return None


def _is_flattened(weight: Constant) -> bool:
    """Whether a weight of bytes or halves has windows, and rows that vectors divide: of others
    neighbours among terms are not loaded at once."""
    terms = prod(weight.array.shape[1:])
    return (
        weight.array.itemsize < FLOAT32.numpy.itemsize
        and prod(weight.array.shape[2:]) > 1
        and terms % _LEAST_VECTOR == 0
    )


def _reshaped(weight: Constant) -> Call:
    """A constant from a matrix of its numbers."""
    shape = weight.array.shape
    matrix = Constant(weight.array.reshape(shape[0], -1))
    return Call(_RESHAPE, (matrix,), Reshape(shape))
