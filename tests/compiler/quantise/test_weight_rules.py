"""Formats of weights by name: rules as text, and the layers that they match."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import QuantisationError
from tandem.compiler.quantise.weight_kinds import GROUPS, WeightKind
from tandem.compiler.quantise.weight_rules import WeightRule, rules_by_layer

LAYERS = {
    "conv1": ("conv1", "relu"),
    "layer3_0_conv1": ("layer3_0_conv1", "layer3_0_relu1"),
    "layer4_0_conv1": ("layer4_0_conv1", "layer4_0_relu1"),
    "output": ("output",),
}


@given(
    st.text("abc_*?=", min_size=1),
    st.sampled_from(WeightKind),
    st.sampled_from(GROUPS) | st.none(),
)
def test_texts_of_rules_are_rules(pattern: str, kind: WeightKind, group: int | None) -> None:
    rule = WeightRule(pattern, kind, group if kind.has_groups else None)
    name, _, form = str(rule).rpartition("=")
    assert WeightRule.of(name, form) == rule


@pytest.mark.parametrize("text", ["int5", "", "int4/", "int4/x", "int4/-16", "int4/16/2", "/16"])
def test_what_is_no_format(text: str) -> None:
    with pytest.raises(QuantisationError, match=r"weights of layer3: .* is no format: int8, int4,"):
        WeightRule.of("layer3", text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int4/24", "weights of a: groups of 24; 16, 32, 64, 128 are allowed"),
        ("ternary/32", "weights of a: ternary has no groups with a scale"),
        ("int8/32", "weights of a: int8 has no groups with a scale"),
    ],
)
def test_groups_that_are_not_allowed(text: str, message: str) -> None:
    with pytest.raises(QuantisationError, match=message):
        WeightRule.of("a", text)


def test_a_pattern_that_is_empty() -> None:
    with pytest.raises(QuantisationError, match="a pattern of names is empty"):
        WeightRule.of(" ", "int4")


def test_the_last_rule_that_matches_counts() -> None:
    rules = [
        WeightRule.of("layer*", "int4"),
        WeightRule.of("layer4_0_relu1", "ternary"),
        WeightRule.of("outpu?", "int8"),
    ]
    assert rules_by_layer(rules, LAYERS) == {
        "layer3_0_conv1": rules[0],
        "layer4_0_conv1": rules[1],
        "output": rules[2],
    }
    assert rules_by_layer(rules[1::-1], LAYERS)["layer4_0_conv1"] == rules[0]
    assert rules_by_layer([], LAYERS) == {}


def test_a_name_may_have_what_a_pattern_means_otherwise() -> None:
    rule = WeightRule.of("layers[0]", "int4")
    assert rules_by_layer([rule], {"layers[0]": ("layers[0]",)}) == {"layers[0]": rule}


@pytest.mark.parametrize(
    ("pattern", "near"),
    [
        ("layer4_0_conv2", "layer4_0_conv1, layer3_0_conv1, "),
        ("layer4-*", "layer3_0_conv1|layer4_0_conv1"),
        ("*RELU1*", "there are layer3_0_relu1, layer4_0_relu1, ..."),
        ("fc", "there are conv1, relu, layer3_0_conv1, layer3_0_relu1, layer4_0_conv1, .*, ..."),
    ],
)
def test_a_pattern_that_matches_nothing_names_what_is_near(pattern: str, near: str) -> None:
    with pytest.raises(QuantisationError, match="no layer with weights has such a name") as caught:
        rules_by_layer([WeightRule.of("conv1", "int4"), WeightRule.of(pattern, "int4")], LAYERS)
    caught.match(near)
