"""Options of compressed weights on the command line."""

from __future__ import annotations

import pytest
import typer

from tandem.compiler.quantise.weight_kinds import WeightKind
from tandem.compiler.quantise.weight_options import INT8_WEIGHTS, WeightOptions
from tandem.compiler.quantise.weight_rules import WeightRule
from tandem.scripts.errors import CommandError
from tandem.scripts.weight_options import INT8_FLAGS, WeightFlags, parse_loss, parse_rule

RULE = WeightRule("layer*", WeightKind.INT4)


@pytest.mark.parametrize(("text", "decibels"), [("6dB", 6.0), ("0.5 db", 0.5), ("12", 12.0)])
def test_losses(text: str, decibels: float) -> None:
    assert parse_loss(text) == decibels


@pytest.mark.parametrize("text", ["-1dB", "much", "", "nan", "inf", "6dBm"])
def test_what_is_no_loss(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is no loss in decibels, such as 6dB: 0 or more"):
        parse_loss(text)


@pytest.mark.parametrize("text", ["int4", "=int4", " =int4", "a=int5", "a=int4/24", "a=ternary/16"])
def test_what_is_no_format_of_layers(text: str) -> None:
    with pytest.raises(typer.BadParameter, match=r"is not LAYER=FORMAT|weights of a: "):
        parse_rule(text)


def test_a_format_of_layers() -> None:
    assert parse_rule("layer4*=int4/64") == WeightRule("layer4*", WeightKind.INT4, 64)


def options(
    flags: WeightFlags, *, calibrated: bool = False, quantised: bool = True
) -> WeightOptions:
    return flags.options(calibrated=calibrated, quantised=quantised)


def test_without_options_weights_are_int8() -> None:
    assert options(INT8_FLAGS) is INT8_WEIGHTS
    assert options(INT8_FLAGS, quantised=False) is INT8_WEIGHTS
    assert options(WeightFlags(WeightKind.INT8)) is INT8_WEIGHTS
    assert not any(INT8_FLAGS.given.values())


def test_given_options() -> None:
    flags = WeightFlags(WeightKind.INT4, [RULE], 64, 3.0, True)
    found = options(flags, calibrated=True)
    assert found == WeightOptions(WeightKind.INT4, 64, 3.0, True, True, (RULE,))
    assert options(WeightFlags(WeightKind.AUTO)).group == 32
    assert all(flags.given.values())


def test_layers_alone_may_have_a_format_with_a_group_and_a_loss() -> None:
    found = options(WeightFlags(None, [RULE], 64, 3.0))
    assert found == WeightOptions(WeightKind.INT8, 64, 3.0, rules=(RULE,))


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (WeightFlags(WeightKind.INT4), "--weights is for --quantize pow2 and multiplier"),
        (WeightFlags(None, [RULE]), "--weights-of is for --quantize pow2 and multiplier"),
        (WeightFlags(smooth=True), "--smooth is for --quantize pow2 and multiplier"),
    ],
)
def test_float32_has_none(flags: WeightFlags, text: str) -> None:
    with pytest.raises(CommandError, match=text):
        options(flags, quantised=False)


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (
            WeightFlags(weight_group=64),
            "--weight-group needs --weights with another format than int8",
        ),
        (
            WeightFlags(WeightKind.INT8, [WeightRule("a", WeightKind.INT8)], max_loss=3.0),
            "--max-loss needs --weights with another format",
        ),
    ],
)
def test_int8_has_no_groups(flags: WeightFlags, text: str) -> None:
    with pytest.raises(CommandError, match=text):
        options(flags)
