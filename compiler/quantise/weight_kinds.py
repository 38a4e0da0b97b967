"""How weights are stored: the formats that options name."""

from __future__ import annotations

from enum import Enum
from typing import Final

from tandem.hw.weight_formats import BINARY, INT4, MXFP4, NF4, TERNARY, WeightFormat

GROUPS: Final = (16, 32, 64, 128)
"""The numbers of input channels that may have one scale."""
DEFAULT_GROUP: Final = 32


class WeightKind(Enum):
    """How weights are stored."""

    INT8 = "int8"
    INT4 = "int4"
    MXFP4 = "mxfp4"
    NF4 = "nf4"
    TERNARY = "ternary"
    BINARY = "binary"
    AUTO = "auto"
    """Each layer as its error allows, and as what bounds it on the machine is worth."""

    @property
    def form(self) -> WeightFormat | None:
        """The format; None for int8, and where layers choose."""
        return _FORMATS.get(self)

    @property
    def has_groups(self) -> bool:
        """Whether groups of weights have a scale, or may have one."""
        return self is WeightKind.AUTO or (self.form is not None and self.form.scaled)


_FORMATS = {
    WeightKind.INT4: INT4,
    WeightKind.MXFP4: MXFP4,
    WeightKind.NF4: NF4,
    WeightKind.TERNARY: TERNARY,
    WeightKind.BINARY: BINARY,
}
