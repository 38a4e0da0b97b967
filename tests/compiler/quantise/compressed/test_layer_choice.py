"""What a layer chooses its format from, and the reasons that are told."""

from __future__ import annotations

from tandem.compiler.quantise.compressed.choice import Option
from tandem.compiler.quantise.compressed.compressor import LayerFormat
from tandem.compiler.quantise.compressed.layer_choice import LayerChoice
from tandem.compiler.quantise.compressed.layer_costs import LayerCost, by_product
from tandem.compiler.quantise.compressed.layer_weights import LayerWeights
from tandem.hw.weight_formats import INT4, TERNARY

INT8 = Option("int8", 800, 0.0)
CHOICE = LayerChoice(
    (INT8, Option("int4", 412, 0.01), Option("ternary", 200, 0.5)),
    {"int4": LayerFormat(INT4, 32), "ternary": LayerFormat(TERNARY, 32)},
)


def costs(int8: float, int4: float, ternary: float, refused: str = "") -> dict[str, LayerCost]:
    return {
        "int8": LayerCost(int8, "cycles", "its products"),
        "int4": LayerCost(int4, "cycles", "its products", refused),
        "ternary": LayerCost(ternary, "cycles", "its products", refused),
    }


def test_a_layer_that_fewer_bits_do_not_make_faster_keeps_int8() -> None:
    """Less than a hundredth is not worth an error."""
    found = CHOICE.by_costs(costs(1000, 1000, 991))
    assert [option.name for option in found.options] == ["int8"]
    assert found.reason("int8") == (
        "bound by its products here: at least 1,000 cycles, and 991 with ternary"
    )


def test_a_layer_that_they_make_faster_chooses_by_cycles() -> None:
    found = CHOICE.by_costs(costs(1000, 600, 600))
    assert [(option.name, option.cost) for option in found.options] == [
        ("int8", 1000),
        ("int4", 600),
        ("ternary", 600),
    ]
    assert found.reason("int4") == "saves 40% of 1,000 cycles"
    text = "int4 would save 40% of 1,000 cycles and lose more than --max-loss allows"
    assert found.reason("int8") == text


def test_formats_that_save_nothing_are_left_out() -> None:
    found = CHOICE.by_costs(costs(1000, 995, 600))
    assert [option.name for option in found.options] == ["int8", "ternary"]


def test_a_machine_that_widens_none() -> None:
    found = CHOICE.by_costs(costs(1000, 1000, 1000, "pynq has no compressed_weights"))
    assert found.reason("int8") == "pynq has no compressed_weights"


def test_a_layer_of_unknown_cost() -> None:
    text = "it is not on the accelerator, whose time is what counts"
    assert CHOICE.by_costs({}).reason("int8") == text
    refused = LayerChoice((INT8,), {}, "no format is possible")
    assert refused.by_costs({}).reason("int8") == "no format is possible"
    assert refused.by_costs(costs(1000, 1, 1)).reason("int8") == "no format is possible"


def test_without_a_machine_bits_count() -> None:
    assert CHOICE.reason("int4") == ""
    assert CHOICE.reason("int8") == "int4 would lose more than --max-loss allows"


def test_costs_are_those_of_the_layers_that_have_the_products() -> None:
    """Of names behind a product the first is the layer's."""
    cost, other = LayerCost(5, "cycles", "the bus"), LayerCost(7, "cycles", "the bus")
    weights = [
        LayerWeights("a", "int8", None, 4, 32, results=("a", "a_relu", "pool")),
        LayerWeights("b", "int8", None, 4, 32, results=("b",)),
    ]
    assert by_product({"pool": other, "a_relu": cost}, weights) == {"a": cost}
