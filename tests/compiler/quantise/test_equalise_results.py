"""Channels of results get ranges alike, exactly, where real numbers are computed from them."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.evaluate import Interpreter, evaluate
from tandem.compiler.graph.nodes import Body, Call, Function, Let, Param, Tuple, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.products import Conv2d
from tandem.compiler.graph.operators.reductions import LayerNorm
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.quantise.compressed.network_loss import NetworkLoss
from tandem.compiler.quantise.compressed.samples import DataSamples
from tandem.compiler.quantise.equalise_results import EqualiseResults, results_of
from tandem.compiler.quantise.network import quantise_network
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.compiler.quantise.weight_options import WeightOptions
from tandem.compiler.quantise.weight_rules import WeightRule

CHANNELS = 6
SIZES = np.array([1, 1, 100, 1, 0.5, 1], np.float32)
"""One channel has results a hundred times as large as the others."""


def layer(last: str, sizes: np.ndarray) -> Function:
    """A convolution with a bias, and an operator that reads it."""
    generator = np.random.default_rng(5)
    weights = generator.standard_normal((CHANNELS, 4, 1, 1)).astype(np.float32)
    weights *= sizes.reshape(-1, 1, 1, 1)
    bias = (generator.standard_normal(CHANNELS) * sizes).astype(np.float32)
    args = Var("x"), Constant(weights), Constant(bias)
    lets = (
        Let("y", Call(OPERATORS["conv2d"], args, Conv2d())),
        Let("z", Call(OPERATORS[last], (Var("y"),))),
    )
    params = (Param("x", TensorType((1, 4, 3, 3), FLOAT32)),)
    return Function("f", params, Body(lets, Var("z")))


def data(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((1, 4, 3, 3)).astype(np.float32)


def samples_of(function: Function) -> DataSamples:
    both = Let("t", Tuple((Var("y"), Var("z"))))
    body = Body((*function.body.lets, both), Var("t"))
    values = evaluate(Function("f", function.params, body), [data()])
    assert isinstance(values, tuple)
    samples = DataSamples(["y"])
    first = values[0]
    assert isinstance(first, np.ndarray)
    samples.add("y", first)
    return samples


def equalised(function: Function) -> Function:
    return EqualiseResults(samples_of(function), QuantiseOptions()).apply(function)


def test_exact_in_every_bit() -> None:
    before = layer("tanh", SIZES)
    after = equalised(before)
    assert [let.name for let in after.body.lets] == ["y_even", "y", "z"]
    wanted, found = evaluate(before, [data(1)]), evaluate(after, [data(1)])
    assert np.array_equal(wanted, found)


def test_factors_are_powers_of_two_that_make_ranges_alike() -> None:
    call = equalised(layer("tanh", SIZES)).body.lets[1].value
    assert isinstance(call, Call)
    assert isinstance(call.args[1], Constant)
    back = call.args[1].array.reshape(-1)
    assert (np.frexp(back)[0] == 0.5).all()
    assert back[2] >= 16 * np.median(back)


def test_off_where_it_gains_nothing() -> None:
    before = layer("tanh", np.ones(CHANNELS, np.float32))
    values = samples_of(before).values("y")[0]
    ranges = np.abs(values).max((0, 2, 3))
    assert ranges.max() < 3 * ranges.min()
    assert equalised(before) == before


@pytest.mark.parametrize("last", ["relu"])
def test_off_where_integers_read_results(last: str) -> None:
    before = layer(last, SIZES)
    assert equalised(before) == before


def test_off_for_the_network_s_result() -> None:
    before = layer("tanh", SIZES)
    whole = Function("f", before.params, Body(before.body.lets[:1], Var("y")))
    assert EqualiseResults(samples_of(before), QuantiseOptions()).apply(whole) == whole


def test_quantised_networks_lose_less() -> None:
    function = layer("tanh", SIZES)
    samples = [[data(seed)] for seed in range(4)]
    loss = NetworkLoss.of(function, samples, Interpreter())
    options = [QuantiseOptions(weights=WeightOptions(smooth=each)) for each in (False, True)]
    plain, smooth = (
        loss.decibels(quantise_network(function, samples, Interpreter(), one).function)
        for one in options
    )
    assert smooth > plain + 6


def test_rules_of_weights_know_an_equalised_product_by_its_name() -> None:
    function, rule = layer("tanh", SIZES), WeightRule.of("y", "ternary")
    options = QuantiseOptions(weights=WeightOptions(smooth=True, rules=(rule,)))
    (weights,) = quantise_network(function, [[data()]], Interpreter(), options).weights
    assert (weights.layer, weights.format) == ("y_even", "ternary")


def layer_with_sum(other: str) -> Function:
    """A convolution, a bias for each channel, and a sum with a value, which is then normalised."""
    generator = np.random.default_rng(6)
    weights = generator.standard_normal((CHANNELS, 4, 1, 1)).astype(np.float32)
    bias = generator.standard_normal(CHANNELS).astype(np.float32)
    scale = SIZES.reshape(-1, 1, 1)
    ones = Constant(np.ones(3, np.float32))
    lets = (
        Let(
            "s",
            Call(OPERATORS["conv2d"], (Var("x"), Constant(weights * scale[..., None])), Conv2d()),
        ),
        Let("y", Call(OPERATORS["add"], (Var("s"), Constant(bias.reshape(-1, 1, 1) * scale)))),
        Let("o", Call(OPERATORS[other], (Var("r"),))),
        Let("a", Call(OPERATORS["add"], (Var("y"), Var("o")))),
        Let("z", Call(OPERATORS["layer_norm"], (Var("a"), ones, ones), LayerNorm())),
    )
    params = (
        Param("x", TensorType((1, 4, 3, 3), FLOAT32)),
        Param("r", TensorType((1, CHANNELS, 3, 3), FLOAT32)),
    )
    return Function("f", params, Body(lets, Var("z")))


def sum_data(seed: int = 0) -> list[np.ndarray]:
    noise = np.random.default_rng(seed).standard_normal((1, CHANNELS, 3, 3))
    return [data(seed), noise.astype(np.float32)]


def equalised_sum(function: Function) -> Function:
    before = Function("f", function.params, Body(function.body.lets, Var("y")))
    samples = DataSamples(["y"])
    found = evaluate(before, sum_data())
    assert isinstance(found, np.ndarray)
    samples.add("y", found)
    return EqualiseResults(samples, QuantiseOptions()).apply(function)


def test_a_bias_and_a_sum_with_real_numbers_are_passed() -> None:
    before = layer_with_sum("tanh")
    after = equalised_sum(before)
    assert [let.name for let in after.body.lets] == ["s", "y_even", "y", "o", "a", "z"]
    given = sum_data(1)
    assert np.array_equal(evaluate(before, given), evaluate(after, given))


def test_off_where_the_sum_is_of_integers() -> None:
    before = layer_with_sum("relu")
    assert equalised_sum(before) == before


def test_results_are_those_with_biases() -> None:
    assert results_of(layer_with_sum("tanh")) == {"y"}
    assert results_of(layer("tanh", SIZES)) == {"y"}


def test_sums_of_quantised_networks_lose_less() -> None:
    function = layer_with_sum("tanh")
    samples = [sum_data(seed) for seed in range(4)]
    loss = NetworkLoss.of(function, samples, Interpreter())
    options = [QuantiseOptions(weights=WeightOptions(smooth=each)) for each in (False, True)]
    plain, smooth = (
        loss.decibels(quantise_network(function, samples, Interpreter(), one).function)
        for one in options
    )
    assert smooth > plain + 3
