"""Weights that are compressed once for a format, and what reports say of them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.errors import QuantisationError
from tandem.compiler.quantise.compressed.calibrated import Gram
from tandem.compiler.quantise.compressed.coded import CodedWeights
from tandem.compiler.quantise.compressed.compressor import Compression, Compressor, LayerFormat
from tandem.compiler.quantise.compressed.layer_weights import LayerWeights
from tandem.compiler.quantise.compressed.rounding import coded_weights
from tandem.compiler.quantise.options import Mode
from tandem.hw.weight_formats import INT4, TERNARY

WEIGHTS = np.random.default_rng(4).standard_normal((3, 8)).astype(np.float32)
DATA = np.random.default_rng(5).standard_normal((20, 8)).astype(np.float32)
NONE = np.zeros(3)
HOW = LayerFormat(INT4, 4)


def compressor(asked: list[str] | None = None, mode: Mode = Mode.MULTIPLIER) -> Compressor:
    """Calibrated for the layer `seen` alone; `asked` gets the names of layers."""

    def gram(name: str) -> Gram | None:
        if asked is not None:
            asked.append(name)
        return Gram.of(DATA) if name == "seen" else None

    return Compressor(gram, mode)


def same(one: CodedWeights, other: CodedWeights) -> None:
    np.testing.assert_array_equal(one.codes, other.codes)
    np.testing.assert_array_equal(one.scales, other.scales)
    np.testing.assert_array_equal(one.channel_scales, other.channel_scales)
    assert (one.form, one.group) == (other.form, other.group)


def test_weights_are_rounded_once() -> None:
    """For each layer and format; again only where a scale has to be larger."""
    asked: list[str] = []
    made = compressor(asked)
    first = made.coded("a", HOW, WEIGHTS, NONE)
    assert made.coded("a", HOW, WEIGHTS, NONE) is first
    assert made.coded("a", HOW, WEIGHTS, first.channel_scales) is first
    assert asked == ["a"]
    assert made.coded("b", HOW, WEIGHTS, NONE) is not first
    assert made.coded("a", LayerFormat(INT4, 8), WEIGHTS, NONE) is not first
    assert asked == ["a", "b", "a"]
    least = first.channel_scales * [1, 4, 1]
    larger = made.coded("a", HOW, WEIGHTS, least)
    assert larger is not first
    assert (larger.channel_scales >= least).all()
    assert made.coded("a", HOW, WEIGHTS, NONE) is larger


@pytest.mark.parametrize("how", [HOW, LayerFormat(TERNARY, 2)])
@pytest.mark.parametrize("mode", list(Mode))
def test_what_weights_become(how: LayerFormat, mode: Mode) -> None:
    """By the data of the layer, if there are some, else to the nearest."""
    made, least = compressor(mode=mode), np.array([0, 0.9, 0])

    def wanted(gram: Gram | None) -> CodedWeights:
        return coded_weights(WEIGHTS, how.form, how.group, gram=gram, least=least, mode=mode)

    same(made.coded("a", how, WEIGHTS, least), wanted(None))
    same(made.coded("seen", how, WEIGHTS, least), wanted(Gram.of(DATA)))


def test_layers_with_formats_and_without() -> None:
    """Under the names of the network, whatever a function calls their values."""
    asked: list[str] = []
    whole = Compression(
        compressor(asked), {"a": HOW, "b": LayerFormat(TERNARY, 2)}, {"a": "small", "c": "kept"}
    )
    renamed = whole.renamed({"x": "a", "y": "c"})
    found = renamed.coded("x", WEIGHTS, NONE)
    assert found is not None
    assert whole.coded("a", WEIGHTS, NONE) is found
    assert asked == ["a"]
    assert renamed.coded("y", WEIGHTS, NONE) is None
    assert renamed.coded("z", WEIGHTS, NONE) is None
    assert whole.coded("x", WEIGHTS, NONE) is None
    # 24 codes of 4 bits, and 6 scales of 4 bits.
    assert renamed.stored("x", WEIGHTS, found) == LayerWeights(
        "a", INT4.name, 4, 24, 24 * 4 + 6 * 4, "small"
    )
    assert renamed.stored("y", WEIGHTS, None) == LayerWeights("c", "int8", None, 24, 192, "kept")
    assert renamed.stored("z", WEIGHTS, None) == LayerWeights("z", "int8", None, 24, 192, "")
    ternary = renamed.coded("b", WEIGHTS, NONE)
    assert ternary is not None
    stored = renamed.stored("b", WEIGHTS, ternary)
    assert (stored.layer, stored.format, stored.group, stored.bits) == ("b", "ternary", None, 48)


def test_no_group_is_refused() -> None:
    weights: NDArray[np.float32] = WEIGHTS
    with pytest.raises(QuantisationError, match="group"):
        compressor().coded("a", LayerFormat(INT4, 0), weights, NONE)
