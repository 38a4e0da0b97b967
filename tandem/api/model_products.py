"""The multiply-accumulates of a graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tandem.compiler.errors import CompilerError
from tandem.compiler.graph.expressions import placeholders, tensors
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Body, Call, Function, FunctionKind, Let, Param, Var
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.types import Type
from tandem.compiler.te.build import macs_of


def products_of(function: Function) -> int:
    """The useful multiply-accumulates of a function's own values: the terms of sums of products."""
    types = infer(function)
    return sum(_macs(let, types) for let in function.body.lets)


def _macs(let: Let, types: Mapping[str, Type]) -> int:
    """The multiply-accumulates of an operator alone; 0 of what is no operator on tensors."""
    call = let.value
    if not isinstance(call, Call) or not isinstance(call.callee, OpSpec):
        return 0
    params: dict[str, Param] = {}
    args: list[Var] = []
    for number, atom in enumerate(call.args):
        # A kernel takes weights as parameters.
        name = atom.name if isinstance(atom, Var) else f"{let.name}_{number}"
        params[name] = Param(name, types[name] if isinstance(atom, Var) else atom.type)
        args.append(Var(name))
    alone = replace(let, value=replace(call, args=tuple(args)))
    body = Body((alone,), Var(let.name))
    try:
        kernel = Function(let.name, tuple(params.values()), body, kind=FunctionKind.KERNEL)
        return macs_of(tensors(kernel, placeholders(kernel)))
    except CompilerError:
        # No kernel is made of an operator that the compiler computes, as one on shapes.
        return 0
