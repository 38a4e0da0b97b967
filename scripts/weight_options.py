"""Command-line options of compressed weights: types for typer, and their group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from tandem.compiler.errors import QuantisationError
from tandem.compiler.quantise.weight_kinds import DEFAULT_GROUP, GROUPS, WeightKind
from tandem.compiler.quantise.weight_options import DEFAULT_LOSS, INT8_WEIGHTS, WeightOptions
from tandem.compiler.quantise.weight_rules import WeightRule
from tandem.scripts.errors import CommandError
from tandem.scripts.option_groups import OptionGroup

_UNIT: Final = "db"
_GROUPS: Final = ", ".join(map(str, GROUPS))


def parse_loss(text: str) -> float:
    """The value of `--max-loss`: `6dB`, or a number of decibels."""
    number = text.strip().lower().removesuffix(_UNIT).strip()
    try:
        found = float(number)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise typer.BadParameter(f"{text!r} is no loss in decibels, such as 6dB: 0 or more")
    return found


def parse_rule(text: str) -> WeightRule:
    """The value of `--weights-of`: a pattern of names and a format."""
    pattern, equals, form = text.rpartition("=")
    if not equals or not pattern.strip():
        raise typer.BadParameter(f"{text!r} is not LAYER=FORMAT, such as 'layer4*=int4'")
    try:
        return WeightRule.of(pattern, form)
    except QuantisationError as error:
        raise typer.BadParameter(str(error)) from None


WeightsOption = Annotated[
    WeightKind | None,
    typer.Option(
        "--weights",
        help="The format of weights: int8; int4, mxfp4 or nf4, in groups that have a scale; "
        "ternary; binary; or auto: each layer as its error allows, where fewer bits make it "
        "faster on the machine (default: int8).",
    ),
]
WeightsOfOption = Annotated[
    list[WeightRule] | None,
    typer.Option(
        "--weights-of",
        metavar="LAYER=FORMAT",
        parser=parse_rule,
        help="The format of some layers' weights, such as 'layer4*=int4' or output=int4/64 (with "
        "the group): names as --explain prints them, or patterns with * and ?; can be repeated, "
        "the last that matches counts (default: that of --weights).",
    ),
]
WeightGroupOption = Annotated[
    int | None,
    typer.Option(
        "--weight-group",
        metavar="N",
        help=f"The input channels that have one scale: {_GROUPS} (default: {DEFAULT_GROUP}).",
    ),
]
MaxLossOption = Annotated[
    float | None,
    typer.Option(
        "--max-loss",
        metavar="DB",
        parser=parse_loss,
        help="The most that the weights' format may cost of the network's signal-to-noise ratio, "
        f"such as 6dB; for --weights auto (default: {DEFAULT_LOSS:g}dB), or to refuse a format.",
    ),
]
SmoothOption = Annotated[
    bool,
    typer.Option(
        "--smooth",
        help="Move the range of activations into the weights behind them where that makes the "
        "error less.",
    ),
]


@dataclass(frozen=True, slots=True)
class WeightFlags(OptionGroup):
    """The options of compressed weights; None for one that is not given."""

    weights: WeightsOption = None
    weights_of: WeightsOfOption = None
    weight_group: WeightGroupOption = None
    max_loss: MaxLossOption = None
    smooth: SmoothOption = False

    @property
    def given(self) -> dict[str, bool]:
        """Whether each of the options is on the command line, by its name."""
        return {
            "--weights": self.weights is not None,
            "--weights-of": bool(self.weights_of),
            "--weight-group": self.weight_group is not None,
            "--max-loss": self.max_loss is not None,
            "--smooth": self.smooth,
        }

    def options(self, *, calibrated: bool, quantised: bool) -> WeightOptions:
        """How weights are compressed.

        Parameters
        ----------
        calibrated
            Whether inputs for calibration are given: weights are rounded for them then.
        quantised
            Whether the network is quantised.

        Raises
        ------
        CommandError
            An option without one that it needs.
        QuantisationError
            A group of a size that is not allowed.
        """
        kind, rules = self.weights or WeightKind.INT8, tuple(self.weights_of or ())
        given = {**self.given, "--weights": kind is not WeightKind.INT8}
        for option, is_given in given.items():
            if is_given and not quantised:
                raise CommandError(f"{option} is for --quantize pow2 and multiplier, not for none")
        formats = {kind, *(rule.kind for rule in rules)}
        for option in ("--weight-group", "--max-loss"):
            if given[option] and formats == {WeightKind.INT8}:
                raise CommandError(f"{option} needs --weights with another format than int8")
        if not any(given.values()):
            return INT8_WEIGHTS
        group = DEFAULT_GROUP if self.weight_group is None else self.weight_group
        return WeightOptions(kind, group, self.max_loss, calibrated, self.smooth, rules)


INT8_FLAGS: Final = WeightFlags()
"""The options of compressed weights where none is given."""
