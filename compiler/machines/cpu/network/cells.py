"""Where the parts of a heap's cells lie, in machine code and in C.

A cell begins with a number of uses, its form and its number of references; references follow, then
all other fields, each at a multiple of 8 bytes. A cell that is free has the address of the next one
in place of its uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Final

from tandem.runtime.artifact import Form, Reference, Tensor
from tandem.runtime.element_types import dtype_of

HEAD_BYTES: Final = 16
"""Of a cell: 8 for its uses, 4 each for its form and its number of references."""
REFERENCE_BYTES: Final = 8
CELL_ALIGNMENT: Final = 16


@dataclass(frozen=True, slots=True)
class CellLayout:
    """The layout of the cells of a form.

    Attributes
    ----------
    references
        How many of the fields refer to cells.
    offsets
        Of each field: of a reference its number among references, of others the bytes behind the
        references.
    sizes
        Bytes of each field; 0 of a reference.
    field_bytes
        Of all fields that are no references.
    """

    references: int
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    field_bytes: int

    @classmethod
    def of(cls, form: Form) -> CellLayout:
        """The layout of a form's cells."""
        offsets, sizes, references, end = [], [], 0, 0
        for field in form.fields:
            if field is None:
                offsets.append(references)
                sizes.append(0)
                references += 1
                continue
            shape, dtype = field
            size = prod(shape) * dtype_of(dtype).itemsize
            offsets.append(end)
            sizes.append(size)
            end += -(-size // 8) * 8
        return cls(references, tuple(offsets), tuple(sizes), end)

    @property
    def bytes(self) -> int:
        """The size of a cell where addresses have 8 bytes."""
        size = HEAD_BYTES + REFERENCE_BYTES * self.references + self.field_bytes
        return -(-size // CELL_ALIGNMENT) * CELL_ALIGNMENT

    def place(self, number: int, *, reference: bool) -> int:
        """Where field `number` begins in a cell, where addresses have 8 bytes."""
        offset = self.offsets[number]
        if reference:
            return HEAD_BYTES + REFERENCE_BYTES * offset
        return HEAD_BYTES + REFERENCE_BYTES * self.references + offset


def refers(tensors: Mapping[str, Tensor], name: str) -> bool:
    """Whether a tensor refers to a cell."""
    return isinstance(tensors[name].place, Reference)
