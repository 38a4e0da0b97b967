"""What was offloaded, back on the CPU: what the accelerator's answer is compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace

from compiler.graph.nodes import Atom, Body, Call, Function, FunctionKind, Let, Tuple, Var
from compiler.graph.visit import map_atoms

__all__ = ["StreamsOnCpu"]


@dataclass(frozen=True, slots=True)
class StreamsOnCpu:
    """Puts the kernels of streams where the streams are called, as kernels of the CPU.

    ::

        y = @stream(x)      ->      a = @conv(x)
                                    y = @pool(a)

    All values keep their names, so that they can be compared one by one.
    """

    name: str = "streams-on-cpu"

    def apply(self, function: Function) -> Function:
        """The function without streams."""
        lets: list[Let] = []
        for let in function.body.lets:
            match let.value:
                case Call(callee=Function(kind=FunctionKind.STREAM) as stream, args=args):
                    lets += _inlined(let, stream, args)
                case _:
                    lets.append(let)
        return replace(function, body=Body(tuple(lets), function.body.result))


def _inlined(let: Let, stream: Function, args: tuple[Atom, ...]) -> list[Let]:
    given = {param.name: arg for param, arg in zip(stream.params, args, strict=True)}

    def outside(atom: Atom) -> Atom:
        return given.get(atom.name, atom) if isinstance(atom, Var) else atom

    lets = []
    for each in stream.body.lets:
        value = map_atoms(each.value, outside)
        match value:
            case Call(callee=Function() as kernel):
                value = replace(value, callee=replace(kernel, kind=FunctionKind.KERNEL))
            case Tuple():
                # What the stream gives together is called as the call of it was.
                lets.append(Let(let.name, value))
                continue
            case _:
                pass
        lets.append(Let(each.name, value, each.type))
    return lets
