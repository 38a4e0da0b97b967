"""Where the frames of a network's functions lie.

A function of which one call at most is under way has a frame of its own. If it calls itself as its
last act, as a loop does, it has two: the next iteration is prepared in the one that is free.

Of a function that may wait for another call of itself, each call has a region of the heap. It is
one frame, or two if the call may end with others, which go on in the frame that is free.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tandem.compiler.machines.cpu.network.cells import REFERENCE_BYTES
from tandem.runtime.artifact import CallFunction, FunctionCode, TailCall
from tandem.runtime.native import ALIGNMENT

_Calls: TypeAlias = Mapping[str, Collection[str]]


@dataclass(frozen=True, slots=True)
class Region:
    """The memory of each call of a function that may wait for itself.

    Attributes
    ----------
    second
        The offset of its second frame; 0 if it has one frame.
    bytes
        Its size.
    """

    second: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Frames:
    """The offsets of frames.

    Attributes
    ----------
    first, second
        Of each function by name that has no region, in bytes; the same offset twice for one that
        needs one frame.
    size
        Bytes of all these frames.
    regions
        Those of functions that may wait for themselves, by name.
    references
        Of each function the offsets in its frame of tensors that refer to cells, which lie behind
        all others: the first, and how many there are.
    places
        The offsets of these tensors in their functions' frames, by name.
    """

    first: Mapping[str, int]
    second: Mapping[str, int]
    size: int
    regions: Mapping[str, Region]
    references: Mapping[str, tuple[int, int]]
    places: Mapping[str, int]


def place_frames(functions: Sequence[FunctionCode], references: Collection[str] = ()) -> Frames:
    """The frames of a network's functions, the first of which is its own.

    Parameters
    ----------
    references
        The tensors that refer to cells.
    """
    spans, places, sizes = dict[str, tuple[int, int]](), dict[str, int](), dict[str, int]()
    for function in functions:
        own = [name for name in function.tensors if name in references]
        begin = -(-function.frame_bytes // REFERENCE_BYTES) * REFERENCE_BYTES
        spans[function.name] = begin, len(own)
        places |= {name: begin + REFERENCE_BYTES * at for at, name in enumerate(own)}
        size = begin + REFERENCE_BYTES * len(own)
        sizes[function.name] = -(-size // ALIGNMENT) * ALIGNMENT
    ends = {each.name: {*_called(each, TailCall)} for each in functions}
    nested = _nested(functions, ends)
    first, second, end = dict[str, int](), dict[str, int](), 0
    regions = dict[str, Region]()
    for function in functions:
        name = function.name
        if name in nested:
            half = max(sizes[each] for each in _reached(name, ends))
            two = any(ends[each] for each in _reached(name, ends))
            regions[name] = Region(half * two, half * (1 + two))
            continue
        loops = name in ends[name]
        first[name] = end
        second[name] = end + sizes[name] * loops
        end += sizes[name] * (1 + loops)
    return Frames(first, second, end, regions, spans, places)


def _called(function: FunctionCode, kind: type[CallFunction] | type[TailCall]) -> Iterator[str]:
    """The functions that a function calls, by instructions of a kind."""
    for instruction in function.instructions:
        if isinstance(instruction, kind):
            yield instruction.function


def _nested(functions: Sequence[FunctionCode], ends: _Calls) -> set[str]:
    """The functions of which several calls may be under way, and those that end calls of these or
    that they end with."""
    waits = {each.name: {*_called(each, CallFunction)} for each in functions}
    calls = {name: {*waits[name], *ends[name]} for name in waits}
    reached = {name: _reached(name, calls) for name in calls}
    found = {
        name
        for caller, waited in waits.items()
        for called in waited
        if caller in reached[called]
        for name in reached[called]
        if caller in reached[name]
    }
    return _closed(found, lambda name: {*ends[name], *(it for it in ends if name in ends[it])})


def _closed(names: set[str], beside: Callable[[str], set[str]]) -> set[str]:
    found, open_ = {*names}, [*names]
    while open_:
        for name in beside(open_.pop()) - found:
            found.add(name)
            open_.append(name)
    return found


def _reached(name: str, calls: _Calls) -> set[str]:
    """A function and all that it may call, directly or not."""
    return _closed({name}, lambda reached: {*calls[reached]})
