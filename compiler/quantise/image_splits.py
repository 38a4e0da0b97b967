"""The pass that makes slices of the parts of an image's channels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate

from tandem.compiler.graph.nodes import Atom, Body, Call, Function, Let, TupleGet, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.parts import Slice, Split
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.verify import verify

_CHANNELS, _RANK = 1, 4


@dataclass(frozen=True, slots=True)
class SliceImages:
    """Replaces splits of images along their channels by slices.

    ::

        s = split(x, sizes=[8, 4], axis=1)  ->  b = slice(x, starts=[8], ends=[12], axes=[1])
        b = s[1]

    A slice has one result, which can become int8, and which an accelerator may have at no cost.
    """

    name: str = "slice-images"

    def apply(self, function: Function) -> Function:
        """The function with slices; splits without other users are left to `EliminateDead`."""
        types = verify(function)
        splits: dict[str, tuple[Atom, Split]] = {}
        lets: list[Let] = []
        for let in function.body.lets:
            match let.value:
                case Call(
                    callee=OpSpec(name="split"), args=(Var() as data,), attributes=Split() as given
                ):
                    if _is_image(types[data.name]) and given.axis % _RANK == _CHANNELS:
                        splits[let.name] = data, given
                case TupleGet(operand=operand, index=index) if operand.name in splits:
                    let = replace(let, value=_slice(*splits[operand.name], index))
                case _:
                    pass
            lets.append(let)
        return replace(function, body=Body(tuple(lets), function.body.result))


def _is_image(type_: Type) -> bool:
    return isinstance(type_, TensorType) and len(type_.shape) == _RANK


def _slice(data: Atom, given: Split, index: int) -> Call:
    """The slice that is the part `index`."""
    start, end = [*accumulate(given.sizes, initial=0)][index : index + 2]
    return Call(OPERATORS["slice"], (data,), Slice((start,), (end,), (_CHANNELS,)))
