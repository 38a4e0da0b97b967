"""Where the tensors of a stream lie in DRAM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compiler.errors import LoweringError
from compiler.ir.buffer import Buffer, Scope
from compiler.ir.stmt import Function
from compiler.ir.visit import buffers_in
from compiler.target import AcceleratorTarget
from hw.config import HardwareConfig
from hw.topology import MemoryId

__all__ = ["Operator", "Place", "addresses_of", "grain", "places_of", "rounded_up"]

_PAGE = 4096


@dataclass(frozen=True, slots=True)
class Operator:
    """A scheduled program, and what its inputs and outputs are.

    Attributes
    ----------
    tensors
        By the names of the program's buffers; those that it does not name keep theirs.
    name
        As messages call it; the program's name where it is empty. Operators may share a program.
    immediates
        The numbers of the program's inputs in IMM, by their names.
    """

    program: Function
    tensors: Mapping[str, str]
    name: str = ""
    immediates: Mapping[str, int] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What people read."""
        return self.name or self.program.name


@dataclass(frozen=True, slots=True)
class Place:
    """A tensor in DRAM: dense, row-major, from `address`."""

    address: int
    buffer: Buffer

    @property
    def size(self) -> int:
        """Bytes."""
        return self.buffer.size * self.buffer.dtype.numpy.itemsize


def grain(config: HardwareConfig) -> int:
    """Tensors begin at multiples of this: pages, and whole elements of every memory."""
    return max(_PAGE, *(config.element_bytes(each) for each in MemoryId))


def rounded_up(address: int, grain: int) -> int:
    """The next multiple of `grain`."""
    return -(-address // grain) * grain


def _global_buffers(function: Function) -> list[Buffer]:
    """Inputs, outputs, and what is allocated in DRAM."""
    return [each for each in buffers_in(function) if each.scope == Scope.GLOBAL]


def _name(operator: Operator, buffer: Buffer) -> str:
    program = operator.program
    if buffer.name in operator.tensors:
        return operator.tensors[buffer.name]
    outside = {each.name for each in (*program.inputs, *program.outputs)}
    return buffer.name if buffer.name in outside else f"{operator.title}.{buffer.name}"


def places_of(
    operators: Sequence[Operator],
    lowered: Sequence[Function],
    target: AcceleratorTarget,
    placed: Mapping[str, int],
) -> tuple[dict[str, Place], int]:
    """Where each tensor lies, and where all of them end.

    Those that are not in `placed` come after these, in pages of their own.
    """
    size = grain(target.config)
    found: dict[str, Buffer] = {}
    for operator, function in zip(operators, lowered, strict=True):
        buffers = _global_buffers(function)
        unknown = operator.tensors.keys() - {each.name for each in buffers}
        if unknown:
            raise LoweringError(
                f"{operator.title} has no buffer {', '.join(sorted(unknown))}; it has "
                f"{', '.join(each.name for each in buffers)}"
            )
        for buffer in buffers:
            name = _name(operator, buffer)
            known = found.setdefault(name, buffer)
            if not _alike(known, buffer):
                raise LoweringError(
                    f"{name} is {known.dtype}{list(known.shape)}, and "
                    f"{buffer.dtype}{list(buffer.shape)} in {operator.title}"
                )
    places: dict[str, Place] = {}
    end = 0
    for name in placed.keys() & found.keys():
        if placed[name] % size:
            raise LoweringError(f"{name} is placed at {placed[name]:#x}, no multiple of {size}")
        places[name] = Place(placed[name], found[name])
        end = max(end, rounded_up(placed[name] + places[name].size, size))
    for name, buffer in found.items():
        if name not in places:
            places[name] = Place(end, buffer)
            end = rounded_up(end + places[name].size, size)
    return {name: places[name] for name in found}, end


def _alike(one: Buffer, other: Buffer) -> bool:
    """Whether two buffers can be one tensor: they may differ in axes of extent 1."""
    shapes = [[extent for extent in each.shape if extent != 1] for each in (one, other)]
    return shapes[0] == shapes[1] and one.dtype == other.dtype


def addresses_of(
    operator: Operator, function: Function, tensors: Mapping[str, Place]
) -> dict[str, int]:
    """By the names of a program's own buffers."""
    return {each.name: tensors[_name(operator, each)].address for each in _global_buffers(function)}
