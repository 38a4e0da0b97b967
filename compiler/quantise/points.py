"""Which values of a network are worth being int8."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.graph.constant import Constant
from compiler.graph.nodes import Atom, Call, Function, Let, Var
from compiler.graph.opspec import OpSpec
from compiler.graph.types import TensorType, Type
from compiler.graph.visit import names_of
from compiler.ir.dtypes import FLOAT32
from compiler.quantise.rules import MOVERS

__all__ = ["points"]

_PRODUCTS = ("conv2d", "dense", "gemm", "matmul")
_POOLS = ("average_pool", "global_average_pool", "max_pool", "reduce_mean")
_THROUGH = ("add", "batch_norm", "clip", "concat", "relu", "total", *MOVERS)
"""They are done on integers if somebody wants their result so."""


def points(function: Function, types: Mapping[str, Type]) -> tuple[str, ...]:
    """The float32 values that something reads which computes with integers, in order.

    And what comes of a convolution, where it goes on in real numbers: an accelerator can give it as
    int8 only.
    """
    wanted: set[str] = set()
    sums = _sums(function)
    in_reals = {function.body.result.name} if isinstance(function.body.result, Var) else set()

    def want(atom: Atom) -> None:
        if isinstance(atom, Var):
            type_ = types[atom.name]
            if isinstance(type_, TensorType) and type_.dtype == FLOAT32:
                wanted.add(atom.name)

    for let in reversed(function.body.lets):
        if let.name in sums and let.name in in_reals:
            want(Var(let.name))
        asked = _asked(let, wanted)
        for each in asked:
            want(each)
        if let.name not in sums:
            in_reals |= names_of(let.value) - {each.name for each in asked if isinstance(each, Var)}
    names = [*(each.name for each in function.params), *(let.name for let in function.body.lets)]
    return tuple(each for each in names if each in wanted)


def _sums(function: Function) -> set[str]:
    """The sums of convolutions, and what is made of these before they are int8."""
    found: set[str] = set()
    for let in function.body.lets:
        match let.value:
            # A pool is a convolution where its windows are all of one size.
            case (
                Call(callee=OpSpec(name="conv2d"), args=(_, Constant(), *_))
                | Call(callee=OpSpec(name="average_pool"))
            ):
                found.add(let.name)
            case Call(callee=OpSpec(name="add" | "clip" | "relu" | "total")):
                if not found.isdisjoint(names_of(let.value)):
                    found.add(let.name)
            case _:
                pass
    return found


def _asked(let: Let, wanted: set[str]) -> tuple[Atom, ...]:
    """The operands that are wanted as int8 for this value."""
    call = let.value
    if not isinstance(call, Call) or not isinstance(call.callee, OpSpec):
        return ()
    name = call.callee.name
    if name in _PRODUCTS:
        return call.args[:1] if isinstance(call.args[1], Constant) else ()
    if name in _POOLS:
        return call.args
    if name not in _THROUGH or let.name not in wanted:
        return ()
    return call.args[:1] if name == "batch_norm" else call.args
