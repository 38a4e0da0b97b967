"""Buffers and the memories that they lie in."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from tandem.compiler.errors import IRError
from tandem.compiler.ir.dtypes import DType


@dataclass(frozen=True, slots=True)
class Scope:
    """The name of a memory. Targets define their own scopes; GLOBAL and LOCAL are a CPU's."""

    value: str

    GLOBAL: ClassVar[Scope]
    LOCAL: ClassVar[Scope]
    """Registers, or the stack of a CPU's thread."""


Scope.GLOBAL = Scope("global")
Scope.LOCAL = Scope("local")


@dataclass(frozen=True, slots=True)
class Buffer:
    """A dense row-major array. Buffers of one program have different names.

    Attributes
    ----------
    shape
        Extents, which may be 0; () is a scalar.
    slots
        Number of places that the buffer's lifetimes take in rotation, so that one lifetime may
        begin before the last one ends (multi-buffering). The program's result never depends on it.
    """

    name: str
    shape: tuple[int, ...]
    dtype: DType
    scope: Scope = Scope.GLOBAL
    slots: int = 1

    def __post_init__(self) -> None:
        if self.slots < 1:
            raise IRError(f"{self.name} has {self.slots} slots: 1 or more is allowed")
        if any(extent < 0 for extent in self.shape):
            raise IRError(f"{self.name} has a negative extent: {self.shape}")

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """The stride of each dimension, in elements."""
        return tuple(prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))
