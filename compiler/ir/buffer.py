"""Buffers: where values are kept."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import prod

from compiler.errors import IRError
from compiler.ir.dtypes import DType

__all__ = ["Buffer", "Scope"]


class Scope(Enum):
    """Which memory a buffer lies in."""

    GLOBAL = "global"
    LOCAL = "local"
    """Near the core: registers or the stack of a CPU's thread."""
    INP = "inp"
    """This and all below: the accelerator's on-chip memories."""
    WGT = "wgt"
    ACC = "acc"
    UOP = "uop"
    OUT = "out"
    IMM = "imm"
    """Nowhere: a number that the accelerator's instructions carry, given with each operator."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """A dense array, row-major. Two of one name are the same.

    Attributes
    ----------
    shape
        Extents, which may be 0; () is a scalar.
    """

    name: str
    shape: tuple[int, ...]
    dtype: DType
    scope: Scope = Scope.GLOBAL

    def __post_init__(self) -> None:
        if any(extent < 0 for extent in self.shape):
            raise IRError(f"{self.name} has a negative extent: {self.shape}")

    @property
    def size(self) -> int:
        """Elements."""
        return prod(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements from one index to the next, for each dimension."""
        return tuple(prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))
