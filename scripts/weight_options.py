"""Command-line options of compressed weights, as types for typer."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import typer

from tandem.compiler.quantise.weight_options import (
    DEFAULT_GROUP,
    DEFAULT_LOSS,
    GROUPS,
    INT8_WEIGHTS,
    WeightKind,
    WeightOptions,
)
from tandem.scripts.errors import CommandError

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


WeightsOption = Annotated[
    WeightKind | None,
    typer.Option(
        "--weights",
        help="The format of weights: int8; int4, mxfp4 or nf4, in groups that have a scale; "
        "ternary; binary; or auto: each layer as its error allows (default: int8).",
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


WeightFlags: TypeAlias = tuple[WeightKind | None, int | None, float | None, bool]
"""The values of `--weights`, `--weight-group`, `--max-loss` and `--smooth`."""


def weight_options(
    weights: WeightKind | None,
    group: int | None,
    max_loss: float | None,
    smooth: bool,
    *,
    calibrated: bool,
    quantised: bool,
) -> WeightOptions:
    """The options of weights, from those of a command line; None for one that is not given.

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
    kind = weights or WeightKind.INT8
    given = {
        "--weights": kind is not WeightKind.INT8,
        "--weight-group": group is not None,
        "--max-loss": max_loss is not None,
        "--smooth": smooth,
    }
    for option, is_given in given.items():
        if is_given and not quantised:
            raise CommandError(f"{option} is for --quantize pow2 and multiplier, not for none")
    for option in ("--weight-group", "--max-loss"):
        if given[option] and kind is WeightKind.INT8:
            raise CommandError(f"{option} needs --weights with another format than int8")
    if not any(given.values()):
        return INT8_WEIGHTS
    return WeightOptions(
        *(kind, DEFAULT_GROUP if group is None else group, max_loss), calibrated, smooth
    )


def given_options(
    weights: WeightKind | None, group: int | None, max_loss: float | None, smooth: bool
) -> dict[str, bool]:
    """Whether each of the options is on the command line, by its name."""
    return {
        "--weights": weights is not None,
        "--weight-group": group is not None,
        "--max-loss": max_loss is not None,
        "--smooth": smooth,
    }
