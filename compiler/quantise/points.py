"""Which values of a network are worth being int8."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.graph.constant import Constant
from compiler.graph.nodes import Atom, Call, Function, Let, Var
from compiler.graph.opspec import OpSpec
from compiler.graph.types import TensorType, Type
from compiler.ir.dtypes import FLOAT32
from compiler.quantise.rules import MOVERS

__all__ = ["points"]

_PRODUCTS = ("conv2d", "dense", "gemm", "matmul")
_POOLS = ("average_pool", "global_average_pool", "max_pool", "reduce_mean")
_THROUGH = ("add", "batch_norm", "clip", "concat", "relu", "total", *MOVERS)
"""They are done on integers if somebody wants their result so."""


def points(function: Function, types: Mapping[str, Type]) -> tuple[str, ...]:
    """The float32 values that something reads which computes with integers, in order."""
    wanted: set[str] = set()

    def want(atom: Atom) -> None:
        if isinstance(atom, Var):
            type_ = types[atom.name]
            if isinstance(type_, TensorType) and type_.dtype == FLOAT32:
                wanted.add(atom.name)

    for let in reversed(function.body.lets):
        for each in _asked(let, wanted):
            want(each)
    names = [*(each.name for each in function.params), *(let.name for let in function.body.lets)]
    return tuple(each for each in names if each in wanted)


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
