"""Passes in tests: from text to text, with results compared by the interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.ir import interpreter
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.ir.verify import verify
from tandem.compiler.lower import LoopPass

_NONE: Final[Mapping[str, PrimFunc]] = MappingProxyType({})


def becomes(
    work: LoopPass, before: str, after: str, intrinsics: Mapping[str, PrimFunc] = _NONE
) -> None:
    """Assert that the pass rewrites `before` to exactly `after`, with the same results.

    The texts may name `intrinsics`.
    """
    start, wanted = parse(before, intrinsics), parse(after, intrinsics)
    found = work.apply(start)
    assert text(found) == text(wanted)
    arrays = [np.arange(b.size).reshape(b.shape).astype(b.dtype.numpy) for b in start.inputs]
    for one, other in zip(
        interpreter.run(start, arrays), interpreter.run(found, arrays), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def unchanged(work: LoopPass, program: str, intrinsics: Mapping[str, PrimFunc] = _NONE) -> None:
    """Assert that the pass leaves this program unchanged."""
    becomes(work, program, program, intrinsics)


def keeps_meaning(work: LoopPass, function: PrimFunc, arrays: list[NDArray[Any]]) -> None:
    """Assert that the pass returns a legal program with the same results, bit for bit."""
    found = work.apply(function)
    verify(found)
    for one, other in zip(
        interpreter.run(function, arrays), interpreter.run(found, arrays), strict=True
    ):
        np.testing.assert_array_equal(one, other)
