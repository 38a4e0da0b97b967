"""What was offloaded, back on the host: what another target's answer is compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace

from compiler.graph.nodes import Atom, Body, Call, Function, FunctionKind, Let, TupleGet
from compiler.graph.visit import substitute

__all__ = ["StreamsOnHost"]


@dataclass(frozen=True, slots=True)
class StreamsOnHost:
    """Puts the kernels of streams where the streams are called, as kernels of the host.

    ::

        y = @stream(x)      ->      a = @f(x)
                                    y = @g(a)

    All values keep their names, so that they can be compared one by one.
    """

    name: str = "streams-on-host"

    def apply(self, function: Function) -> Function:
        """The function without streams."""
        lets: list[Let] = []
        inlined: set[str] = set()
        for let in function.body.lets:
            match let.value:
                case Call(callee=Function(kind=FunctionKind.STREAM) as stream, args=args):
                    lets += _inlined(stream, args)
                    inlined.add(let.name)
                case TupleGet(operand=operand) if operand.name in inlined:
                    # One of several results: the kernel that makes it is there, under its name.
                    pass
                case _:
                    lets.append(let)
        return replace(function, body=Body(tuple(lets), function.body.result))


def _inlined(stream: Function, args: tuple[Atom, ...]) -> list[Let]:
    """The kernels of a stream; `FormStreams` gives results the names that they have in it."""
    given = {param.name: arg for param, arg in zip(stream.params, args, strict=True)}
    lets = []
    for each in substitute(stream.body, given).lets:
        value = each.value
        if isinstance(value, Call) and isinstance(value.callee, Function):
            kernel = replace(value.callee, target="")
            lets.append(replace(each, value=replace(value, callee=kernel)))
    return lets
