"""Options of compressed weights: the format, groups, the loss that is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from tandem.compiler.errors import QuantisationError
from tandem.hw.weight_formats import BINARY, INT4, MXFP4, NF4, TERNARY, WeightFormat

GROUPS: Final = (16, 32, 64, 128)
"""The numbers of input channels that may have one scale."""
DEFAULT_GROUP: Final = 32
DEFAULT_LOSS: Final = 6.0
"""What `WeightKind.AUTO` may lose unless somebody says otherwise, in decibels."""


class WeightKind(Enum):
    """How weights are stored."""

    INT8 = "int8"
    INT4 = "int4"
    MXFP4 = "mxfp4"
    NF4 = "nf4"
    TERNARY = "ternary"
    BINARY = "binary"
    AUTO = "auto"
    """Each layer as its error allows."""

    @property
    def form(self) -> WeightFormat | None:
        """The format; None for int8, and where layers choose."""
        return _FORMATS.get(self)


_FORMATS = {
    WeightKind.INT4: INT4,
    WeightKind.MXFP4: MXFP4,
    WeightKind.NF4: NF4,
    WeightKind.TERNARY: TERNARY,
    WeightKind.BINARY: BINARY,
}


@dataclass(frozen=True, slots=True)
class WeightOptions:
    """How weights are compressed.

    Attributes
    ----------
    kind
        See `WeightKind`.
    group
        The input channels that have one scale, one of `GROUPS`.
    max_loss
        The decibels by which the network's signal-to-noise ratio may be less than with int8
        weights; None for any with a fixed format, and `DEFAULT_LOSS` with `WeightKind.AUTO`.
    calibrated
        Whether weights are rounded for the least error of their layer's results on the samples of
        calibration, instead of to the nearest.
    smooth
        Whether the range of activations is moved into weights where that makes the error less.
    """

    kind: WeightKind = WeightKind.INT8
    group: int = DEFAULT_GROUP
    max_loss: float | None = None
    calibrated: bool = False
    smooth: bool = False

    def __post_init__(self) -> None:
        if self.group not in GROUPS:
            allowed = ", ".join(map(str, GROUPS))
            raise QuantisationError(f"groups of {self.group} weights: {allowed} are allowed")
        if self.max_loss is not None and not self.max_loss >= 0:
            raise QuantisationError(f"a loss of {self.max_loss:g} dB: 0 or more is allowed")


INT8_WEIGHTS: Final = WeightOptions()
"""Weights as they are without options: int8."""
