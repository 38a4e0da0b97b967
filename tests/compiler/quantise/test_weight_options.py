"""Options of weights, and what they ask for."""

from __future__ import annotations

import math

import pytest

from tandem.compiler.errors import QuantisationError
from tandem.compiler.quantise.weight_kinds import GROUPS, WeightKind
from tandem.compiler.quantise.weight_options import INT8_WEIGHTS, WeightOptions
from tandem.compiler.quantise.weight_rules import WeightRule
from tandem.hw.weight_formats import BINARY, INT4, MXFP4, NF4, TERNARY

INT8, AUTO = WeightKind.INT8, WeightKind.AUTO
RULE = WeightRule("a*", WeightKind.INT4, 64)


def test_kinds() -> None:
    assert [kind.form for kind in WeightKind] == [None, INT4, MXFP4, NF4, TERNARY, BINARY, None]
    grouped = [kind for kind in WeightKind if kind.has_groups]
    scaled = [kind for kind in WeightKind if kind.form is not None and kind.form.scaled]
    assert grouped == [*scaled, AUTO]
    assert WeightKind.INT4 in scaled


def test_what_is_asked_for() -> None:
    assert not INT8_WEIGHTS.asks
    assert not WeightOptions(smooth=True).asks
    assert WeightOptions(WeightKind.TERNARY).asks
    assert WeightOptions(rules=(WeightRule("b", INT8),)).asks
    assert WeightOptions(AUTO).chooses
    assert WeightOptions(rules=(RULE, WeightRule("b", AUTO))).chooses
    assert not WeightOptions(WeightKind.INT4, rules=(RULE,)).chooses


def test_formats_of_layers() -> None:
    options = WeightOptions(WeightKind.NF4, 16, rules=(RULE,))
    assert options.of_layer(None) == (WeightKind.NF4, 16)
    assert options.of_layer(RULE) == (WeightKind.INT4, 64)
    assert options.of_layer(WeightRule("b", INT8)) == (INT8, 16)
    assert str(options) == "nf4, a*=int4/64"
    assert str(INT8_WEIGHTS) == "int8"


def test_limits() -> None:
    for group in GROUPS:
        assert WeightOptions(group=group).group == group
    with pytest.raises(QuantisationError, match=r"^groups of 8 weights: 16, 32, 64, 128 are"):
        WeightOptions(group=8)
    assert WeightOptions(max_loss=0.0).max_loss == 0
    for loss in (-0.5, math.nan):
        with pytest.raises(QuantisationError, match=f"^a loss of {loss:g} dB: 0 or more is"):
            WeightOptions(max_loss=loss)
