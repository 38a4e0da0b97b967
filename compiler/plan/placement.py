"""Placement of tensors in blocks within each other, for kernels that only concatenate or slice.

Where the parts of a concatenation lie one behind the other, the layers that compute the parts can
store them into the result: no instruction concatenates. A slice is a part of its operand likewise.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import prod

from tandem.compiler.graph.nodes import Call, Function, Var
from tandem.compiler.graph.operators.parts import Concat, Slice
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.operators.slicing import elements

PLACED = "placed"
"""The template of kernels that no instruction computes."""
_CHANNELS = 1
"""The axis of images that is divided into blocks."""


def placement_of(kernel: Function) -> tuple[int, ...] | None:
    """The distance in bytes from a kernel's result to each operand; None if the kernel computes.

    `PlaceParts` sees to it that a kernel that concatenates has its operands one behind the other.
    """
    if kernel.template != PLACED:
        return None
    calls = [let.value for let in kernel.body.lets if isinstance(let.value, Call)]
    core = [each.attributes for each in calls if each.callee.name != "convert"]
    match core:
        case [Concat()]:
            sizes = [bytes_of(param.type) for param in kernel.params]
            return tuple(accumulate(sizes[:-1], initial=0))
        case [Slice() as given]:
            return (-_bytes_before(given, kernel),)
        case _:
            raise AssertionError(f"{kernel.name} places nothing")


def _bytes_before(given: Slice, kernel: Function) -> int:
    """The bytes of the blocks of channels that a kernel's slice leaves out at the begin."""
    (operand,) = kernel.params
    assert isinstance(operand.type, TensorType), "blocks"
    assert operand.type.layout is not None, "blocks"
    shape = operand.type.static_shape(operand.name)
    block = operand.type.layout.block(_CHANNELS)
    first = first_channel(given, shape)
    assert first is not None, "as `PlaceParts` makes it"
    return first // block * (bytes_of(operand.type) // -(-shape[_CHANNELS] // block))


def first_channel(given: Slice, shape: Sequence[int]) -> int | None:
    """The first channel of a slice of an image's channels; None if it selects others than
    consecutive channels of all pixels.

    Parameters
    ----------
    shape
        The image's: images, channels, rows, columns.
    """
    steps = given.steps or (1,) * len(given.starts)
    axes = range(len(given.starts)) if given.axes is None else given.axes
    first = 0
    for axis, start, end, step in zip(axes, given.starts, given.ends, steps, strict=True):
        selected = elements(shape[axis], start, end, step)
        if axis % len(shape) == _CHANNELS and step == 1:
            first = selected.start
        elif selected != range(shape[axis]):
            return None
    return first


def bytes_of(type_: Type) -> int:
    """The size of a tensor."""
    assert isinstance(type_, TensorType), "kernels in blocks take and give one tensor each"
    stored = type_.stored
    return prod(stored.static_shape("a tensor in blocks")) * stored.dtype.numpy.itemsize


@dataclass(slots=True)
class Regions:
    """Tensors at fixed distances from each other: each lies at an offset in a region of memory.

    Attributes
    ----------
    sizes
        The size in bytes of each tensor of a region, by name.
    """

    sizes: dict[str, int] = field(default_factory=dict)
    _region: dict[str, str] = field(default_factory=dict)
    _offset: dict[str, int] = field(default_factory=dict)

    def copy(self) -> Regions:
        """Regions to which other tensors can be added."""
        return Regions({**self.sizes}, {**self._region}, {**self._offset})

    def add(self, name: str, size: int) -> None:
        """Add a tensor in a region of its own, unless the tensor is known."""
        self.sizes.setdefault(name, size)
        self._region.setdefault(name, name)
        self._offset.setdefault(name, 0)

    def join(self, one: str, other: str, distance: int) -> bool:
        """Have the tensor `other` begin `distance` bytes behind the begin of `one`; False, and
        nothing is changed, if it begins elsewhere in the same region."""
        region, moved = self._region[one], self._region[other]
        wanted = self._offset[one] + distance
        shift = wanted - self._offset[other]
        if region == moved:
            return not shift
        for name in self.members(other):
            self._region[name] = region
            self._offset[name] += shift
        return True

    def members(self, name: str) -> dict[str, int]:
        """The tensors of the region of `name`, with their bytes behind the region's begin."""
        region = self._region[name]
        names = [each for each, own in self._region.items() if own == region]
        begin = min(self._offset[each] for each in names)
        return {each: self._offset[each] - begin for each in names}

    def extent(self, name: str) -> int:
        """The size of the region of `name` in bytes."""
        return max(at + self.sizes[each] for each, at in self.members(name).items())

    def __contains__(self, name: str) -> bool:
        return name in self._region

    def overlap(self, name: str, placed: Collection[str]) -> tuple[str, str] | None:
        """Two tensors of the region of `name` that would overwrite each other, if there are any.

        Parameters
        ----------
        placed
            Tensors that nothing writes: these consist of others.
        """
        written = sorted(
            (at, at + self.sizes[member], member)
            for member, at in self.members(name).items()
            if member not in placed
        )
        for (_, end, first), (begin, _, second) in pairwise(written):
            if begin < end:
                return first, second
        return None


def regions_of(placements: Mapping[str, Call], types: Mapping[str, Type]) -> Regions:
    """The regions of calls of kernels that have a `placement_of`, by the names of their results.

    Parameters
    ----------
    types
        Types of the results and of the operands, by name.
    """
    regions = Regions()
    for name, call in placements.items():
        refusal = place_call(regions, name, call, types)
        assert refusal is None, f"{refusal}: placed by `PlaceParts`"
    return regions


def place_call(regions: Regions, name: str, call: Call, types: Mapping[str, Type]) -> str | None:
    """Add a call of a kernel that has a `placement_of` to the regions.

    Returns
    -------
        None, or the name of an operand that lies elsewhere already; the regions are partly changed
        then.
    """
    assert isinstance(call.callee, Function), "a kernel"
    distances = placement_of(call.callee)
    assert distances is not None, "a kernel that only moves"
    regions.add(name, bytes_of(types[name]))
    operands = [atom.name for atom in call.args if isinstance(atom, Var)]
    for operand, distance in zip(operands, distances, strict=True):
        regions.add(operand, bytes_of(types[operand]))
        if not regions.join(name, operand, distance):
            return operand
    return None
