"""Rows that are written into a tensor that is stored in another order: code of the kind `rows`.

Nothing else of the tensor is touched, so that a step of this code can change an input in place.
"""

from __future__ import annotations

from math import prod
from typing import ClassVar, NoReturn

import msgspec
from msgspec import Struct

from tandem.runtime.errors import ArtifactError
from tandem.runtime.native.objects import Parameter, is_shape

_MAGIC = b"tandem-rows 1\n"
_DTYPE = "int8"


class RowsCode(Struct, frozen=True, forbid_unknown_fields=True):
    """Writes rows into a tensor: those from `first` on.

    The element at the indices i of the tensor is element `sum(i * element_steps)` of row
    `sum(i * row_steps)`. It may be in several places; a row has one index along each axis that
    steps from row to row.

    Attributes
    ----------
    shape
        The extents of the tensor, of int8, as it is stored.
    row_steps, element_steps
        A number for each axis, of which one at most is not 0.
    count, elements
        The rows that are written: int8[count, elements].

    Raises
    ------
    ArtifactError
        The numbers are not those of a tensor of rows.
    """

    name: str
    shape: tuple[int, ...]
    row_steps: tuple[int, ...]
    element_steps: tuple[int, ...]
    first: int
    count: int
    elements: int

    kind: ClassVar[str] = "rows"

    def __post_init__(self) -> None:
        rank = len(self.shape)
        if not is_shape(self.shape) or {len(self.row_steps), len(self.element_steps)} != {rank}:
            self._fail(f"a tensor of {list(self.shape)} with steps for other axes")
        steps = (*zip(self.row_steps, self.element_steps, strict=True),)
        if any(min(pair) < 0 or all(pair) for pair in steps):
            self._fail(f"steps of {steps}")
        below = 1
        for step, extent in sorted(
            (step, extent) for step, extent in zip(self.row_steps, self.shape, strict=True) if step
        ):
            if step != below:
                self._fail(f"rows {step} apart behind {below} rows")
            below *= extent
        last = sum(
            step * (extent - 1) for step, extent in zip(self.element_steps, self.shape, strict=True)
        )
        if not is_shape((self.count, self.elements)) or last >= self.elements:
            self._fail(f"element {last} of rows of {self.elements}")
        if not 0 <= self.first <= self.rows - self.count:
            self._fail(f"rows {self.first} to {self.first + self.count} of {self.rows}")

    @property
    def rows(self) -> int:
        """The rows of the tensor."""
        return prod(extent for extent, step in zip(self.shape, self.row_steps, strict=True) if step)

    @property
    def reads(self) -> tuple[Parameter, ...]:
        """The tensor before, and the rows."""
        return (
            Parameter("data", self.shape, _DTYPE),
            Parameter("rows", (self.count, self.elements), _DTYPE),
        )

    @property
    def writes(self) -> tuple[Parameter, ...]:
        """The tensor with these rows."""
        return (Parameter("result", self.shape, _DTYPE),)

    def to_bytes(self) -> bytes:
        """The code as bytes, for `from_bytes`."""
        return _MAGIC + msgspec.json.encode(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> RowsCode:
        """The code that `to_bytes` wrote; raises `ArtifactError` if the bytes are damaged."""
        if not data.startswith(_MAGIC):
            raise ArtifactError("these are no places of rows of ours, or of another version")
        try:
            return msgspec.json.decode(data.removeprefix(_MAGIC), type=cls)
        except (ValueError, RecursionError) as error:
            raise ArtifactError(f"places of rows: they are damaged: {error}") from None

    def _fail(self, reason: str) -> NoReturn:
        raise ArtifactError(f"places of rows {self.name}: {reason}")
