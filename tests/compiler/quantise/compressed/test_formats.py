"""Formats of a network's layers, with networks that are no more than their formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from tandem.compiler.errors import QuantisationError
from tandem.compiler.quantise.compressed.compressor import Compressor, LayerFormat
from tandem.compiler.quantise.compressed.formats import FormatChoice
from tandem.compiler.quantise.compressed.layer_costs import LayerCost
from tandem.compiler.quantise.compressed.products import WeightedProduct
from tandem.compiler.quantise.options import Mode
from tandem.compiler.quantise.weight_kinds import WeightKind
from tandem.compiler.quantise.weight_options import WeightOptions
from tandem.compiler.quantise.weight_rules import WeightRule

RNG = np.random.default_rng(3)
PRODUCTS = {
    name: WeightedProduct(name, "x", RNG.normal(0, 1, (4, 32)).astype(np.float32), 0)
    for name in ("first", "middle", "last")
}
LOSSES = {"int4": 1.0, "nf4": 1.0, "mxfp4": 1.0, "ternary": 10.0}
"""What a layer in a format takes of the network's 40 dB."""
Network = tuple[Mapping[str, LayerFormat], Mapping[str, str]]
Costs = Callable[[Network], Mapping[str, LayerCost]]


def made(formats: Mapping[str, LayerFormat], reasons: Mapping[str, str]) -> Network:
    return dict(formats), dict(reasons)


def decibels(network: Network) -> float:
    return 40 - sum(LOSSES[how.form.name] for how in network[0].values())


def network(
    options: WeightOptions,
    rules: Mapping[str, WeightRule] | None = None,
    costs: Costs | None = None,
) -> tuple[dict[str, str], Mapping[str, str]]:
    """The formats of layers as text, and the reasons."""
    compressor = Compressor(lambda _: None, Mode.MULTIPLIER)
    choice = FormatChoice(
        *(options, PRODUCTS, compressor, made, decibels, rules or {}), costs=costs
    )
    formats, reasons = choice.network()
    return {name: f"{how.form.name}/{how.group}" for name, how in formats.items()}, reasons


def bound_by(**bits: float) -> Costs:
    """Layers that cost so much for each bit of a weight, and 800 cycles at least."""

    def costs(found: Network) -> dict[str, LayerCost]:
        formats, _ = found
        amounts = {
            name: max(800.0, by_bit * (formats[name].form.bits if name in formats else 8))
            for name, by_bit in bits.items()
        }
        return {
            name: LayerCost(amount, "cycles", "its products" if amount == 800 else "the bus")
            for name, amount in amounts.items()
        }

    return costs


def test_layers_by_name_and_the_rest() -> None:
    rules = {"last": WeightRule.of("last", "ternary"), "first": WeightRule.of("first", "nf4/64")}
    found, reasons = network(WeightOptions(WeightKind.INT4, group=16), rules)
    assert found == {"first": "nf4/64", "middle": "int4/16", "last": "ternary/16"}
    assert not reasons
    found, _ = network(WeightOptions(), {"last": WeightRule.of("last", "int4")})
    assert found == {"last": "int4/32"}


def test_a_layer_that_is_bound_by_products_keeps_int8() -> None:
    """Each of the others takes the narrowest format that the loss allows: of those that save."""
    options = WeightOptions(WeightKind.AUTO, max_loss=2.5)
    costs = bound_by(first=100, middle=150, last=400)
    found, reasons = network(options, costs=costs)
    assert sorted(found) == ["last", "middle"]
    assert {form.partition("/")[0] for form in found.values()} <= {"int4", "nf4"}
    assert reasons == {
        "first": "bound by its products here: at least 800 cycles, and 800 with int4",
        "middle": "saves 33% of 1,200 cycles",
        "last": "saves 50% of 3,200 cycles",
    }
    found, _ = network(WeightOptions(WeightKind.AUTO, max_loss=30.0), costs=costs)
    assert found == {"middle": found["middle"], "last": "ternary/32"}
    # In two bits the middle one is bound by products, too: it saves as much as in four.
    assert found["middle"].partition("/")[0] in ("int4", "nf4")


def test_the_cycles_that_an_error_saves_are_what_counts() -> None:
    found, reasons = network(
        WeightOptions(WeightKind.AUTO, max_loss=1.5),
        costs=bound_by(first=500, middle=5000, last=500),
    )
    assert [*found] == ["middle"]
    assert reasons["first"].endswith(
        "would save 50% of 4,000 cycles and lose more than --max-loss allows"
    )


def test_where_layers_choose_beside_fixed_ones_the_loss_is_that_of_all() -> None:
    rules = {"first": WeightRule.of("first", "ternary")}
    found, _ = network(WeightOptions(WeightKind.AUTO, max_loss=11.5), rules)
    assert len(found) == 2
    assert found["first"] == "ternary/32"


def test_fixed_formats_that_lose_too_much() -> None:
    rules = {"first": WeightRule.of("first", "ternary")}
    text = "weights in ternary lose 10.0 dB of the 40.0 dB .* allows 6 dB; the best within it is "
    with pytest.raises(QuantisationError, match=f"{text}ternary in 0 of 3 layers"):
        network(WeightOptions(WeightKind.AUTO), rules)
    rules = {"last": WeightRule.of("last", "ternary")}
    text = "weights in int4, ternary lose 12.0 dB .* in groups of 16 they lose 12.0 dB; the best "
    with pytest.raises(QuantisationError, match=f"{text}within it is int4, ternary in 2 of 3"):
        network(WeightOptions(WeightKind.INT4, max_loss=11.0), rules)
