"""How many images lie in blocks that are not full: what is behind them is undefined.

The accelerator computes a block of images at once. Where a network has fewer, the other rows hold
what a layer makes of zeros, its bias for one; the host's packing writes zeros there.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.driver.call_sequence import CallSequence
from compiler.graph.constant import Constant
from compiler.graph.infer import infer
from compiler.graph.nodes import Atom, Call, Function, Tuple, TupleGet
from compiler.graph.types import TupleType, Type, tensors_of
from runtime.artifact.manifest import BATCH_AXIS

_PACKING = ("pack_data", "pack_windows")


def packed_images(sequence: CallSequence) -> dict[str, int]:
    """The numbers of images in results of kernels and streams whose last block is not full."""
    found: dict[str, int] = {}
    for call in sequence.invocations:
        for name, images in zip(call.outputs, _in_results(call.kernel), strict=True):
            if images and images % sequence.types[name].static_shape(name)[BATCH_AXIS]:
                found[name] = images
    return found


def _in_results(function: Function) -> Iterator[int]:
    """The images in the function's results, flattened; 0 for a result that is not in blocks."""
    types = infer(function)
    values = {let.name: let.value for let in function.body.lets}

    def type_of(atom: Atom) -> Type:
        return atom.type if isinstance(atom, Constant) else types[atom.name]

    def walk(atom: Atom) -> Iterator[int]:
        match None if isinstance(atom, Constant) else values.get(atom.name):
            case Tuple(items=items):
                for item in items:
                    yield from walk(item)
            case TupleGet(operand=operand, index=index):
                yield from _item(types[operand.name], [*walk(operand)], index)
            case Call(callee=Function() as called):
                yield from _in_results(called)
            case Call(callee=callee, args=(operand, *_)) if callee.name == "byte_planes":
                yield from walk(operand)
            case Call(callee=callee, args=(operand, *_)) if callee.name in _PACKING:
                (type_,) = tensors_of(type_of(operand))
                yield type_.static_shape(function.name)[0]
            case _:
                yield from (0 for _ in tensors_of(type_of(atom)))

    yield from walk(function.body.result)


def _item(type_: Type, found: list[int], index: int) -> list[int]:
    """The part of a tuple's flat list that is its item `index`."""
    assert isinstance(type_, TupleType), "verified"
    sizes = [sum(1 for _ in tensors_of(each)) for each in type_.items]
    start = sum(sizes[:index])
    return found[start : start + sizes[index]]
