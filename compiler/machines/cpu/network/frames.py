"""Where the frames of a network's functions lie, if no function waits for another call of itself.

A function that calls itself as its last act, as a loop does, has two frames: the next iteration is
prepared in the one that is free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tandem.runtime.artifact import CallFunction, FunctionCode, TailCall
from tandem.runtime.native import ALIGNMENT


@dataclass(frozen=True, slots=True)
class Frames:
    """The offsets of frames.

    Attributes
    ----------
    first, second
        Of each function by name, in bytes; the same offset twice for one that needs one frame.
    size
        Bytes of all frames.
    """

    first: Mapping[str, int]
    second: Mapping[str, int]
    size: int


def place_frames(functions: Sequence[FunctionCode]) -> Frames | None:
    """The frames of a network's functions, the first of which is its own; None if calls nest
    without a bound that is known."""
    if _is_recursive(functions):
        return None
    first, second, end = dict[str, int](), dict[str, int](), 0
    for function in functions:
        size = -(-function.frame_bytes // ALIGNMENT) * ALIGNMENT
        loops = any(
            isinstance(instruction, TailCall) and instruction.function == function.name
            for instruction in function.instructions
        )
        first[function.name] = end
        second[function.name] = end + size * loops
        end += size * (1 + loops)
    return Frames(first, second, end)


def _is_recursive(functions: Sequence[FunctionCode]) -> bool:
    """Whether a function may wait for the result of another call of itself."""
    calls: dict[str, set[str]] = {each.name: set() for each in functions}
    waits: set[tuple[str, str]] = set()
    for function in functions:
        for instruction in function.instructions:
            if isinstance(instruction, CallFunction | TailCall):
                calls[function.name].add(instruction.function)
            if isinstance(instruction, CallFunction):
                waits.add((function.name, instruction.function))
    return any(caller in _reached(called, calls) for caller, called in waits)


def _reached(name: str, calls: Mapping[str, set[str]]) -> set[str]:
    """A function and all that it may call, directly or not."""
    found, open_ = {name}, [name]
    while open_:
        for called in calls[open_.pop()] - found:
            found.add(called)
            open_.append(called)
    return found
