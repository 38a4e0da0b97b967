"""Options of compressed weights on the command line."""

from __future__ import annotations

import pytest
import typer

from tandem.compiler.quantise.weight_options import INT8_WEIGHTS, WeightKind, WeightOptions
from tandem.scripts.errors import CommandError
from tandem.scripts.weight_options import WeightFlags, parse_loss, weight_options

NOTHING: WeightFlags = (None, None, None, False)


@pytest.mark.parametrize(("text", "decibels"), [("6dB", 6.0), ("0.5 db", 0.5), ("12", 12.0)])
def test_losses(text: str, decibels: float) -> None:
    assert parse_loss(text) == decibels


@pytest.mark.parametrize("text", ["-1dB", "much", "", "nan", "inf", "6dBm"])
def test_what_is_no_loss(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is no loss in decibels, such as 6dB: 0 or more"):
        parse_loss(text)


def options(
    flags: WeightFlags, *, calibrated: bool = False, quantised: bool = True
) -> WeightOptions:
    return weight_options(*flags, calibrated=calibrated, quantised=quantised)


def test_without_options_weights_are_int8() -> None:
    assert options(NOTHING) is INT8_WEIGHTS
    assert options(NOTHING, quantised=False) is INT8_WEIGHTS


def test_given_options() -> None:
    found = options((WeightKind.INT4, 64, 3.0, True), calibrated=True)
    assert found == WeightOptions(WeightKind.INT4, 64, 3.0, calibrated=True, smooth=True)
    assert options((WeightKind.AUTO, None, None, False)).group == 32


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ((WeightKind.INT4, None, None, False), "--weights is for --quantize pow2 and multiplier"),
        ((None, None, None, True), "--smooth is for --quantize pow2 and multiplier"),
    ],
)
def test_float32_has_none(flags: WeightFlags, text: str) -> None:
    with pytest.raises(CommandError, match=text):
        options(flags, quantised=False)


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ((None, 64, None, False), "--weight-group needs --weights with another format than int8"),
        ((WeightKind.INT8, None, 3.0, False), "--max-loss needs --weights with another format"),
    ],
)
def test_int8_has_no_groups(flags: WeightFlags, text: str) -> None:
    with pytest.raises(CommandError, match=text):
        options(flags)
