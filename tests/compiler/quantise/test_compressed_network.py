"""Networks with compressed weights: the trained one for digits, and small ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tandem.compiler.models
from tandem.compiler.errors import QuantisationError
from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph import Function, Var
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.nodes import Call
from tandem.compiler.graph.operators.compressed import Widen
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.passes import Fuse, transform
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.models import built_in
from tandem.compiler.quantise.compressed.layer_costs import LayerCost
from tandem.compiler.quantise.compressed.network_loss import NetworkLoss
from tandem.compiler.quantise.network import quantise_network
from tandem.compiler.quantise.options import Mode, QuantiseOptions
from tandem.compiler.quantise.quantised import Quantised
from tandem.compiler.quantise.weight_kinds import WeightKind
from tandem.compiler.quantise.weight_options import WeightOptions
from tandem.compiler.quantise.weight_rules import WeightRule
from tests.support.compiler.models.stated_network import stated_network
from tests.support.compiler.quantise.quantised_reference import reference

RUN = NativeRunner()
IMAGES = np.load(Path(tandem.compiler.models.__file__).parent / "digits.npz")
SAMPLES = [[each[None]] for each in IMAGES["calibration"].astype("float32")[:32] / 16]
HELD_OUT = [[each[None]] for each in IMAGES["images"].astype("float32")[:64] / 16]
DIGITS = import_model(built_in("digits"), open_batch_is_one=True).function


def quantised(weights: WeightOptions, mode: Mode = Mode.MULTIPLIER) -> Quantised:
    return quantise_network(DIGITS, SAMPLES, RUN, QuantiseOptions(mode, weights=weights))


def held_out_decibels(network: Quantised) -> float:
    return NetworkLoss.of(network.real, HELD_OUT, RUN).decibels(network.function)


def codes(network: Quantised) -> dict[str, tuple[Widen, str]]:
    """The attributes of each `widen` and the type of its codes."""
    found = {}
    for let in network.function.body.lets:
        value = let.value
        if isinstance(value, Call) and isinstance(value.callee, OpSpec):
            if value.callee.name == "widen":
                assert isinstance(value.args[0], Constant)
                assert isinstance(value.attributes, Widen)
                found[let.name] = value.attributes, str(value.args[0].type.dtype)
    return found


@pytest.mark.parametrize(
    ("kind", "dtype", "layers", "mode"),
    [
        (WeightKind.INT4, "uint4", 9, Mode.POW2),
        (WeightKind.NF4, "uint4", 9, Mode.MULTIPLIER),
        (WeightKind.TERNARY, "uint2", 10, Mode.MULTIPLIER),
        (WeightKind.BINARY, "bool", 10, Mode.POW2),
    ],
)
def test_every_bit_against_the_reference(
    kind: WeightKind, dtype: str, layers: int, mode: Mode
) -> None:
    """The reference has no code of the compiler's, and widens by itself."""
    network = quantised(WeightOptions(kind), mode)
    found = codes(network)
    assert {of for _, of in found.values()} == {dtype}
    assert len(found) == layers
    image = HELD_OUT[0]
    values = reference(network.function, image)
    result = network.function.body.result
    assert isinstance(result, Var)
    ours = evaluate(transform(network.function, (Fuse(),)), image, RUN)
    assert np.array_equal(ours, values[result.name])


def test_layers_are_told_with_their_formats_and_sizes() -> None:
    network = quantised(WeightOptions(WeightKind.INT4, group=16))
    first, *others = network.weights
    assert (first.layer, first.format, first.bytes) == ("stem_stem_0_Conv_output_0", "int8", 144)
    assert "1 input channels" in first.reason
    assert {(each.format, each.group) for each in others} == {("int4", 16)}
    # Four bits for a weight, and four for 16 of them.
    assert others[-1].bytes == 640 * 4 / 8 + 640 / 16 / 2
    assert others[0].results == (
        "blocks_blocks_0_first_first_0_Conv_output_0",
        "blocks_blocks_0_Relu_output_0",
    )


def test_layers_have_formats_by_their_names() -> None:
    """By the name of the product, of its result or of its node; int8 and auto are formats too."""
    rules = {"blocks_blocks_1_*": "int4", "blocks_blocks_1_Relu_output_0": "ternary"}
    made = tuple(WeightRule.of(name, form) for name, form in {**rules, "output": "nf4/16"}.items())
    network = quantised(WeightOptions(rules=made))
    found = {each.layer: (each.format, each.group) for each in network.weights}
    assert {name: form for name, form in found.items() if form != ("int8", None)} == {
        "blocks_blocks_1_first_first_0_Conv_output_0": ("ternary", None),
        "blocks_blocks_1_second_second_0_Conv_output_0": ("int4", 32),
        "blocks_blocks_1_skip_skip_0_Conv_output_0": ("int4", 32),
        "output": ("nf4", 16),
    }
    assert len(found) == 10


def test_layers_choose_beside_those_of_fixed_formats() -> None:
    rules = (WeightRule.of("output", "int8"), WeightRule.of("blocks_blocks_2_*", "ternary"))
    options = WeightOptions(WeightKind.AUTO, max_loss=25.0, calibrated=True, rules=rules)
    found = {each.layer: each.format for each in quantised(options).weights}
    fixed = {form for name, form in found.items() if name.startswith("blocks_blocks_2_")}
    assert fixed == {"ternary"}
    assert found["output"] == "int8"
    assert "int4" in found.values() or "nf4" in found.values()


def test_fixed_formats_that_lose_more_than_layers_may_that_choose() -> None:
    rules = (WeightRule.of("blocks_*", "ternary"),)
    text = r"weights in ternary lose .* allows 1 dB; the best within it is ternary in \d of 10"
    with pytest.raises(QuantisationError, match=text):
        quantised(WeightOptions(WeightKind.AUTO, max_loss=1.0, rules=rules))


def test_a_model_that_states_its_scales_keeps_its_weights() -> None:
    function = import_model(stated_network()).function
    options = QuantiseOptions(weights=WeightOptions(rules=(WeightRule.of("*", "int4"),)))
    text = "--weights int8, [*]=int4: the model states its own scales, and keeps its weights"
    with pytest.raises(QuantisationError, match=text):
        quantise_network(function, [], RUN, options)


def test_int8_as_ever() -> None:
    plain = quantise_network(DIGITS, SAMPLES, RUN, QuantiseOptions())
    again = quantised(WeightOptions(WeightKind.INT8))
    assert plain.function == again.function
    assert plain.weights == ()


def test_calibrated_rounding_is_better_on_images_that_it_has_not_seen() -> None:
    """11 dB with 128 images; 32 are enough for 3."""
    nearest, calibrated = (
        held_out_decibels(quantised(WeightOptions(WeightKind.INT4, calibrated=choice)))
        for choice in (False, True)
    )
    assert calibrated > nearest + 3


def test_layers_choose_within_a_loss() -> None:
    plain = NetworkLoss.of(quantised(WeightOptions()).real, SAMPLES[:16], RUN)
    int8 = plain.decibels(quantised(WeightOptions()).function)
    sizes = []
    for allowed in (3.0, 9.0, 25.0):
        options = WeightOptions(WeightKind.AUTO, max_loss=allowed, calibrated=True)
        network = quantised(options)
        assert int8 - plain.decibels(network.function) <= allowed
        sizes.append(sum(each.bytes for each in network.weights))
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] < 77_072  # those of int8
    assert sizes[-1] < 35_000


@pytest.mark.parametrize("smooth", [False, True])
def test_layers_for_which_the_machine_gains_nothing_keep_int8(smooth: bool) -> None:
    """What layers cost on the machine reaches the choice, with smoothing and without."""

    def costs(function: Function) -> dict[str, LayerCost]:
        return {let.name: LayerCost(1000.0, "cycles", "its products") for let in function.body.lets}

    weights = WeightOptions(WeightKind.AUTO, max_loss=25.0, smooth=smooth)
    options = QuantiseOptions(Mode.MULTIPLIER, weights=weights)
    assert not codes(quantise_network(DIGITS, SAMPLES, RUN, options, costs=costs))
    assert codes(quantise_network(DIGITS, SAMPLES, RUN, options))


def test_a_loss_that_a_format_does_not_reach_is_refused_with_the_best() -> None:
    text = (
        r"weights in ternary lose \d+\.\d dB of the \d+\.\d dB that the network has with int8 "
        r"weights, and --max-loss allows 2 dB; the best within it is ternary in \d+ of 10 layers, "
        r"which loses \d+\.\d dB: --weights auto"
    )
    with pytest.raises(QuantisationError, match=text):
        quantised(WeightOptions(WeightKind.TERNARY, max_loss=2.0))
    with pytest.raises(QuantisationError, match=r"in groups of 16 they lose \d+\.\d dB"):
        quantised(WeightOptions(WeightKind.INT4, group=128, max_loss=2.0))


def test_a_loss_that_a_format_keeps_within() -> None:
    network = quantised(WeightOptions(WeightKind.INT4, max_loss=40.0))
    assert {each.format for each in network.weights} == {"int8", "int4"}


def test_options_that_are_not_allowed() -> None:
    with pytest.raises(QuantisationError, match="groups of 24 weights: 16, 32, 64, 128 are"):
        WeightOptions(WeightKind.INT4, group=24)
    with pytest.raises(QuantisationError, match="a loss of -1 dB: 0 or more is allowed"):
        WeightOptions(WeightKind.AUTO, max_loss=-1.0)
