"""What a generator of sketches knows of a processor."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.compiler.ir.dtypes import DType
from tandem.compiler.ir.stmt import PrimFunc


@dataclass(frozen=True, slots=True)
class SketchRules:
    """The limits within which sketches are generated.

    Attributes
    ----------
    register_bits, registers
        The size of a vector register, and how many there are.
    threads
        The threads that parallel loops run on; with one there are no parallel loops.
    reassociate
        Whether floats may be added in another order than the expressions define.
    most_unrolled
        The most statements that unrolled loops write out.
    most_terms
        The most terms of a reduction that are written out.
    most_repeated
        How often an element may be computed where its readers are, rather than once.
    intrinsics
        The behaviours of tensor intrinsics that may be used.
    """

    register_bits: int
    registers: int
    threads: int = 1
    reassociate: bool = False
    most_unrolled: int = 256
    most_terms: int = 16
    most_repeated: int = 8
    intrinsics: tuple[PrimFunc, ...] = ()

    def lanes(self, dtype: DType) -> int:
        """The elements of a type in a register."""
        return max(1, self.register_bits // max(8, dtype.bits))
