"""Padding of tensors in blocks: which elements of kernels' and streams' results are undefined.

The accelerator computes whole blocks of images and channels. Where a network has fewer, a layer
leaves there what it makes of anything: its bias, if that is one number for all channels. The host's
packing writes zeros. So the padding of data is undefined: nothing that reads it may influence
what is no padding, as products by weights that are zero there. Weights that are computed when the
network runs have those zeros, which are defined (`pack_weight`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import TypeAlias

from msgspec.structs import replace

from compiler.driver.call_sequence import CallSequence
from compiler.graph.constant import Constant
from compiler.graph.infer import infer
from compiler.graph.nodes import Atom, Call, Function, Tuple, TupleGet
from compiler.graph.operators.blocks import PackData, PackWeight, PackWindows
from compiler.graph.types import TupleType, Type, tensors_of
from runtime.artifact import PaddedAxis

_Padded: TypeAlias = tuple[PaddedAxis, ...]

_INNER = (4, 5)
"""By the axis of the image, and of blocks, that of the elements of a block."""


def padded_axes(sequence: CallSequence) -> dict[str, _Padded]:
    """The axes with undefined padding of the results of kernels and streams, by name."""
    found: dict[str, _Padded] = {}
    for call in sequence.invocations:
        for name, axes in zip(call.outputs, _of_results(call.kernel), strict=True):
            shape = sequence.types[name].static_shape(name)
            padded = tuple(axis for axis in axes if axis.extent % shape[axis.inner])
            if padded:
                found[name] = padded
    return found


def _of_results(function: Function) -> Iterator[_Padded]:
    """The axes in blocks with undefined padding, if they have any, of the function's results,
    flattened."""
    types = infer(function)
    values = {let.name: let.value for let in function.body.lets}

    def type_of(atom: Atom) -> Type:
        return atom.type if isinstance(atom, Constant) else types[atom.name]

    def walk(atom: Atom) -> Iterator[_Padded]:
        match None if isinstance(atom, Constant) else values.get(atom.name):
            case Tuple(items=items):
                for item in items:
                    yield from walk(item)
            case TupleGet(operand=operand, index=index):
                yield from _item(types[operand.name], [*walk(operand)], index)
            case Call(callee=Function() as called):
                yield from _of_results(called)
            case Call(callee=callee, args=(operand, *_)) if callee.name == "byte_planes":
                yield from walk(operand)
            case Call(
                args=(operand, *_), attributes=PackData() | PackWindows() | PackWeight() as how
            ):
                (packed,) = tensors_of(type_of(operand))
                yield _of_packing(how, packed.static_shape(function.name))
            case _:
                yield from (() for _ in tensors_of(type_of(atom)))

    yield from walk(function.body.result)


def _of_packing(
    how: PackData | PackWindows | PackWeight, shape: tuple[int, ...]
) -> tuple[PaddedAxis, ...]:
    """The axes in blocks with undefined padding, if they have any, of an operand of this shape,
    packed."""
    images, channels = (PaddedAxis(shape[axis], axis, _INNER[axis]) for axis in (0, 1))
    match how:
        case PackData():
            return images, channels
        case PackWindows(kernel=kernel):
            return images, replace(channels, extent=channels.extent * prod(kernel))
        case PackWeight():
            return (images,)


def _item(type_: Type, found: Sequence[_Padded], index: int) -> Sequence[_Padded]:
    """The part of a tuple's flat list that is its item `index`."""
    assert isinstance(type_, TupleType), "verified"
    sizes = [sum(1 for _ in tensors_of(each)) for each in type_.items]
    start = sum(sizes[:index])
    return found[start : start + sizes[index]]
