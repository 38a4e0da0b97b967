"""Ranges of features move into weights, exactly, and where they make the error less."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.evaluate import Interpreter, evaluate
from tandem.compiler.graph.nodes import Body, Call, Function, Let, Param, Tuple, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.products import Product
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.quantise.compressed.network_loss import NetworkLoss
from tandem.compiler.quantise.compressed.samples import DataSamples
from tandem.compiler.quantise.network import quantise_network
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.compiler.quantise.smooth_activations import SmoothActivations, some_rows
from tandem.compiler.quantise.weight_kinds import WeightKind
from tandem.compiler.quantise.weight_options import WeightOptions
from tandem.compiler.quantise.weight_rules import WeightRule
from tests.support.compiler.quantise.networks import network

FEATURES = 16
EVEN = np.ones(FEATURES)
UNEVEN = np.where(np.arange(FEATURES) == 3, 100.0, 1.0)
"""One feature is a hundred times as large as the others, as in transformers."""


def layers(first: str) -> Function:
    """Two dense layers that read the same data, behind an operator, which is a result too."""
    generator = np.random.default_rng(5)
    weights = [generator.standard_normal((6, FEATURES)).astype(np.float32) for _ in range(2)]
    lets = (
        Let("a", Call(OPERATORS[first], (Var("x"),))),
        *(
            Let(name, Call(OPERATORS["dense"], (Var("a"), Constant(weight)), Product()))
            for name, weight in zip("yz", weights, strict=True)
        ),
        Let("t", Tuple((Var("y"), Var("z"), Var("a")))),
    )
    params = (Param("x", TensorType((8, FEATURES), FLOAT32)),)
    return Function("f", params, Body(lets, Var("t")))


def data(sizes: NDArray[np.float64], seed: int = 0) -> NDArray[np.float32]:
    noise = np.random.default_rng(seed).standard_normal((8, FEATURES))
    return (noise * sizes).astype(np.float32)


def smoothed(function: Function, sizes: NDArray[np.float64]) -> Function:
    samples = DataSamples(["a"])
    values = evaluate(function, [data(sizes)])
    assert isinstance(values, tuple)
    third = values[2]
    assert isinstance(third, np.ndarray)
    samples.add("a", third)
    return SmoothActivations(samples, QuantiseOptions()).apply(function)


def test_exact_in_every_bit() -> None:
    before = layers("tanh")
    # What tanh gives is uneven for the samples, and anything for what is computed.
    samples = DataSamples(["a"])
    samples.add("a", data(UNEVEN))
    after = SmoothActivations(samples, QuantiseOptions()).apply(before)
    assert [let.name for let in after.body.lets] == ["a", "a_smooth", "y", "z", "t"]
    given = data(EVEN, 1)
    wanted, found = evaluate(before, [given]), evaluate(after, [given])
    for real, own in zip(wanted, found, strict=True):
        assert np.array_equal(real, own)


def test_the_factors_are_powers_of_two_that_make_features_alike() -> None:
    after = smoothed(layers("negative"), UNEVEN)
    call = after.body.lets[1].value
    assert isinstance(call, Call)
    assert isinstance(call.args[1], Constant)
    factors = call.args[1].array
    assert (np.frexp(factors)[0] == 0.5).all()
    assert factors[3] <= np.median(factors) / 8


def test_off_where_it_gains_nothing() -> None:
    before = layers("negative")
    assert smoothed(before, EVEN) == before


@pytest.mark.parametrize("first", ["relu"])
def test_off_where_data_are_integers(first: str) -> None:
    """What quantisation computes in int8 would leave the accelerator for the multiplication."""
    before = layers(first)
    assert smoothed(before, UNEVEN) == before


def test_off_without_samples() -> None:
    before = layers("negative")
    assert SmoothActivations(DataSamples(["a"]), QuantiseOptions()).apply(before) == before


def test_quantised_networks_lose_less() -> None:
    function = layers("negative")
    samples = [[data(UNEVEN, seed)] for seed in range(6)]
    loss = NetworkLoss.of(function, samples, Interpreter())
    plain, smooth = (
        loss.decibels(
            quantise_network(
                function,
                samples,
                Interpreter(),
                QuantiseOptions(weights=WeightOptions(smooth=choice)),
            ).function
        )
        for choice in (False, True)
    )
    assert smooth > plain + 1


def test_layers_are_smoothed_for_their_own_formats() -> None:
    """A layer that a rule gives four bits is smoothed as if all had four."""
    text = f"x: float32[8, {FEATURES}], w: float32[6, {FEATURES}]"
    function = network(f"func @f({text}):\n  a = negative(x)\n  y = dense(a, w)\n  return y")
    sizes = np.exp2(np.random.default_rng(0).uniform(-3, 3, FEATURES))
    samples = [[data(sizes, seed)] for seed in range(6)]

    def real(kind: WeightKind, *rules: WeightRule) -> Function:
        options = QuantiseOptions(weights=WeightOptions(kind, smooth=True, rules=rules))
        return quantise_network(function, samples, Interpreter(), options).real

    plain, of_all = real(WeightKind.INT8), real(WeightKind.INT4)
    assert plain != of_all
    assert real(WeightKind.INT8, WeightRule.of("y", "int4")) == of_all
    assert real(WeightKind.INT4, WeightRule.of("y", "int8")) == plain


@pytest.mark.parametrize("period", [2, 6, 48, 64])
def test_rows_are_of_all_places_of_a_sequence(period: int) -> None:
    """The first token of a sequence is unlike all others: it must not count more often than it is
    there."""
    rows = np.tile(np.arange(period), 6144 // period)[:, np.newaxis]
    chosen = some_rows(rows, 1024)
    assert len(chosen) == 1024
    counts = np.bincount(chosen[:, 0], minlength=period) * period / 1024
    assert counts.min() > 0.1
    assert counts[0] < 1.6
    assert np.array_equal(some_rows(rows, 6144), rows)
