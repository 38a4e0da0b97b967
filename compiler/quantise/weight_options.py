"""Options of compressed weights: the formats, groups, the loss that is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tandem.compiler.errors import QuantisationError
from tandem.compiler.quantise.weight_kinds import DEFAULT_GROUP, GROUPS, WeightKind
from tandem.compiler.quantise.weight_rules import WeightRule

DEFAULT_LOSS: Final = 6.0
"""What `WeightKind.AUTO` may lose unless somebody says otherwise, in decibels."""


@dataclass(frozen=True, slots=True)
class WeightOptions:
    """How weights are compressed.

    Attributes
    ----------
    kind
        The format of layers that no rule names; see `WeightKind`.
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
    rules
        The formats of layers by name; of several rules that match, the last counts.
    """

    kind: WeightKind = WeightKind.INT8
    group: int = DEFAULT_GROUP
    max_loss: float | None = None
    calibrated: bool = False
    smooth: bool = False
    rules: tuple[WeightRule, ...] = ()

    def __post_init__(self) -> None:
        if self.group not in GROUPS:
            allowed = ", ".join(map(str, GROUPS))
            raise QuantisationError(f"groups of {self.group} weights: {allowed} are allowed")
        if self.max_loss is not None and not self.max_loss >= 0:
            raise QuantisationError(f"a loss of {self.max_loss:g} dB: 0 or more is allowed")

    @property
    def asks(self) -> bool:
        """Whether a format of weights is asked for."""
        return self.kind is not WeightKind.INT8 or bool(self.rules)

    @property
    def chooses(self) -> bool:
        """Whether layers choose their formats."""
        return WeightKind.AUTO in (self.kind, *(rule.kind for rule in self.rules))

    def of_layer(self, rule: WeightRule | None) -> tuple[WeightKind, int]:
        """The kind and the group of a layer that a rule names, or none."""
        if rule is None:
            return self.kind, self.group
        return rule.kind, self.group if rule.group is None else rule.group

    def __str__(self) -> str:
        return ", ".join((self.kind.value, *map(str, self.rules)))


INT8_WEIGHTS: Final = WeightOptions()
"""Weights as they are without options: int8."""
