"""Passes in tests: from text to text, and the interpreter's word that the meaning is the same."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from compiler.ir import interpreter
from compiler.ir.parser import parse
from compiler.ir.printer import text
from compiler.ir.stmt import Function
from compiler.ir.verify import verify
from compiler.lower import Pass

__all__ = ["becomes", "keeps_meaning", "unchanged"]

_NONE: Final[Mapping[str, Function]] = MappingProxyType({})


def becomes(
    work: Pass, before: str, after: str, intrinsics: Mapping[str, Function] = _NONE
) -> None:
    """The pass makes exactly this program of that one, and the two do the same.

    `intrinsics` are those that the texts may name.
    """
    start, wanted = parse(before, intrinsics), parse(after, intrinsics)
    found = work.apply(start)
    assert text(found) == text(wanted)
    arrays = [
        np.arange(each.size).reshape(each.shape).astype(each.dtype.numpy) for each in start.inputs
    ]
    for one, other in zip(
        interpreter.run(start, arrays), interpreter.run(found, arrays), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def unchanged(work: Pass, program: str, intrinsics: Mapping[str, Function] = _NONE) -> None:
    """The pass leaves this program as it is."""
    becomes(work, program, program, intrinsics)


def keeps_meaning(work: Pass, function: Function, arrays: list[NDArray[Any]]) -> None:
    """The pass makes a legal program with the same results, to the last bit."""
    found = work.apply(function)
    verify(found)
    for one, other in zip(
        interpreter.run(function, arrays), interpreter.run(found, arrays), strict=True
    ):
        np.testing.assert_array_equal(one, other)
