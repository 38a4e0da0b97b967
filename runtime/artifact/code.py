"""Code of an artifact: what a device executes, in tagged kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol, Self


class NamedArray(Protocol):
    """An array that code reads or writes; `dtype` is NumPy's name of its type, as `float32`."""

    @property
    def name(self) -> str:
        """The code's own name for the array."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the array."""

    @property
    def dtype(self) -> str:
        """The type of the elements."""


class Code(Protocol):
    """Code of one kind, such as an object file or an instruction stream. A frozen value.

    A further kind is a class of one's own with these members, which is handed to `read_artifact`
    and whose code a device of one's own executes.

    Attributes
    ----------
    kind
        The name of the kind in files: a lower-case word.
    """

    kind: ClassVar[str]

    @property
    def reads(self) -> Sequence[NamedArray]:
        """The inputs, in the order in which steps name their tensors."""

    @property
    def writes(self) -> Sequence[NamedArray]:
        """The outputs, in the order in which steps name their tensors."""

    def to_bytes(self) -> bytes:
        """The code as bytes, for `from_bytes`."""

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The code that `to_bytes` wrote; raises `ArtifactError` or `NativeCodeError` if the
        bytes are damaged."""
