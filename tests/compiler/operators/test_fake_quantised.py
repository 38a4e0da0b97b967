"""Fake quantisation equals what quantised numbers stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import FLOAT32, INT8
from tandem.compiler.operators.elementwise import ELEMENTWISE
from tandem.compiler.operators.quantised import dequantise, quantise
from tandem.compiler.quantise.compressed.nearest import NearestEntries
from tandem.compiler.te import placeholder
from tandem.hw.weight_formats import FORMATS, WeightFormat
from tests.support.compiler.operators.operators import evaluate, given_as, numbers, same

fake_quantise, fake_encode = ELEMENTWISE["fake_quantise"], ELEMENTWISE["fake_encode"]
SHAPE = (2, 3, 5)


@pytest.mark.parametrize("zero", [0, 3, -128])
def test_fake_quantise_is_quantise_and_dequantise(zero: int) -> None:
    x = numbers(0, SHAPE) * 40
    x[0, 0] = [0.125, 0.375, -0.625, 1e8, -np.inf]
    arrays = {"X": x, "S": np.array(0.25, "f4"), "Z": np.array(zero, "i1")}
    data, scale, zeros = (given_as(name, each) for name, each in arrays.items())
    wanted = evaluate(dequantise(quantise(data, scale, zeros), scale, zeros), arrays)
    found = fake_quantise(data, scale, low=INT8.low - zero, high=INT8.high - zero)
    same(evaluate(found, {name: arrays[name] for name in "XS"}), wanted)


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
@given(seed=st.integers(0, 1 << 30))
@settings(max_examples=10)
def test_fake_encode_takes_the_entries_that_rounding_takes(form: WeightFormat, seed: int) -> None:
    random = np.random.default_rng(seed)
    x = (random.standard_normal(SHAPE) * 8).astype("f4")
    # Middles between two entries, and what lies next to them.
    halves = random.integers(-20, 20, (3, 5)).astype("f4") / 2
    x[0] = np.nextafter(halves, halves + random.integers(-1, 2, halves.shape).astype("f4"))
    scale = np.where(random.random(SHAPE) < 0.5, 1, random.uniform(0.1, 2, SHAPE)).astype("f4")
    wanted = NearestEntries.of(form).value(x / scale) * scale
    found = fake_encode(given_as("X", x), given_as("S", scale), table=form.table)
    same(evaluate(found, {"X": x, "S": scale}), wanted)


def test_scales_of_channels() -> None:
    x, scale = numbers(1, (3, 4)), np.array([[0.5], [0.25], [2.0]], "f4")
    found = fake_encode(given_as("X", x), given_as("S", scale), table=(-1, 0, 1))
    wanted = np.clip(np.floor(x / scale + np.float32(0.5)), -1, 1) * scale
    same(evaluate(found, {"X": x, "S": scale}), wanted.astype("f4"))


def test_what_is_no_number_stays() -> None:
    arrays = {"X": np.array([np.nan, np.inf], "f4"), "S": np.array(0.5, "f4")}
    tensors = [given_as(name, each) for name, each in arrays.items()]
    for found in (fake_quantise(*tensors, high=3), fake_encode(*tensors, table=(0, 3))):
        np.testing.assert_array_equal(evaluate(found, arrays), np.array([np.nan, 1.5], "f4"))


def test_refusals() -> None:
    x, scale = placeholder((2, 3), FLOAT32, "X"), placeholder((3, 1), FLOAT32, "S")
    one = placeholder((), FLOAT32, "S")
    with pytest.raises(TensorError, match=r"a range of 3\.\.3: low has to be less than high$"):
        fake_quantise(x, one, low=3, high=3)
    with pytest.raises(TensorError, match=r"a table of \[1, 1\]: at least two different entries"):
        fake_encode(x, one, table=(1, 1))
    with pytest.raises(TensorError, match=r"do not broadcast: axis -2 has \[2, 3\]$"):
        fake_quantise(x, scale)
    with pytest.raises(TensorError, match=r"float32\[2, 3\] does not broadcast to S float32\[\]$"):
        fake_quantise(one, x)
    with pytest.raises(TensorError, match=r"is not of the kind float$"):
        fake_quantise(placeholder((2,), INT8, "X"), one)
