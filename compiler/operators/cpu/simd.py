"""What a schedule has to know of a processor: its vectors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from compiler.intrinsics.cpu import CPU_INTRINSICS
from compiler.ir.dtypes import INT32, DType
from compiler.ir.stmt import Function

__all__ = ["Simd"]

_WIDE, _MEDIUM, _NARROW = 64, 32, 16


@dataclass(frozen=True, slots=True)
class Simd:
    """Vector registers and dot products.

    Attributes
    ----------
    bytes
        Of a register.
    registers
        How many there are.
    dots
        Names of the dot products among `CPU_INTRINSICS` that it has.
    """

    bytes: int
    registers: int
    dots: frozenset[str] = frozenset()

    @classmethod
    def of(cls, features: Iterable[str]) -> Simd:
        """Of a processor with these features, in LLVM's names (`CpuTarget.features`).

        Of processors other than x86-64 the least is assumed that is good for all.
        """
        known = frozenset(features)
        dots = frozenset(name for name, each in CPU_INTRINSICS.items() if each.features <= known)
        if "avx512f" in known:
            return cls(_WIDE, 32, dots)
        return cls(_MEDIUM if "avx2" in known else _NARROW, 16, dots)

    def lanes(self, dtype: DType) -> int:
        """Elements in a register."""
        return self.bytes * 8 // dtype.bits

    def dot(self, left: DType, right: DType, sums: DType) -> Function | None:
        """The dot product of `left` with `right` that has the most lanes, if there is one."""
        if sums != INT32:
            return None
        found = [
            function
            for function in (CPU_INTRINSICS[name].function for name in sorted(self.dots))
            if tuple(each.dtype for each in function.inputs[1:]) == (left, right)
        ]
        return max(found, key=lambda each: each.outputs[0].size, default=None)
