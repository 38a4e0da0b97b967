"""Networks that round, as text, and the scales that are their parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.verify import verify
from tandem.compiler.quantise.compressed.compressor import LayerFormat
from tandem.compiler.quantise.fake.layer_grid import LayerGrid, RoundedLayer
from tandem.compiler.quantise.fake.writer import FakeWriter
from tandem.compiler.quantise.forms import Scale
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.hw.weight_formats import INT4
from tests.support.compiler.graph.graphs import graph

NETWORK = """
func @f(x: float32[2, 3], w: float32[4, 3], b: float32[4], v: float32[5, 4]):
  h = dense(x, w, b)
  r = relu(h)
  y = dense(r, v)
  z = add(y, y)
  return z
"""
OPTIONS = QuantiseOptions()
FIRST = RoundedLayer("h", "w", LayerGrid(0, None, OPTIONS))
SECOND = RoundedLayer("y", "v", LayerGrid(0, LayerFormat(INT4, 2), OPTIONS))
SCALES = {"x": Scale(0.5, 3), "h": Scale(0.25, -128), "y": Scale(2.0)}

ROUNDED = """\
func @f(x: float32[2, 3], w: float32[4, 3], b: float32[4], v: float32[5, 4], x_scale: float32[], \
h_weight_scales: float32[4, 1], h_scale: float32[], y_weight_scales: float32[5, 4], \
y_scale: float32[]):
  x_rounded = fake_quantise(x, x_scale, low=-131, high=124)
  h_weight_rounded = fake_quantise(w, h_weight_scales, low=-127)
  h_real = dense(x_rounded, h_weight_rounded, b)
  h = fake_quantise(h_real, h_scale, low=0, high=255)
  r = relu(h)
  y_weight_rounded = fake_encode(v, y_weight_scales, TABLE)
  y_real = dense(r, y_weight_rounded)
  y = fake_quantise(y_real, y_scale)
  z = add(y, y)
  return z
""".replace("TABLE", f"table={[*INT4.table]}")


def test_the_text() -> None:
    """Values keep their names where they are rounded; numbers are as far from the zero point as
    int8 is, by default from -128 to 127."""
    writer = FakeWriter(graph(NETWORK), [FIRST, SECOND], SCALES)
    found = writer.function()
    verify(found)
    assert text(found) == ROUNDED
    assert writer.layers == {"h_weight_scales": FIRST, "y_weight_scales": SECOND}
    assert writer.points == {"x": "x_scale", "h": "h_scale", "y": "y_scale"}


def test_what_a_layer_gives() -> None:
    """By NumPy: weights in steps of their channels, values in steps of theirs."""
    writer = FakeWriter(graph(NETWORK), [FIRST], {"x": SCALES["x"], "h": SCALES["h"]})
    found = writer.function()
    random = np.random.default_rng(1)
    x, w, b, v = (
        random.standard_normal(shape).astype(np.float32) for shape in ((2, 3), (4, 3), (4,), (5, 4))
    )
    steps = np.array([[0.25], [0.5], [0.125], [1]], np.float32)
    given = [x * 90, w, b, v, np.float32(0.5), steps, np.float32(0.25)]
    rounded_x = np.clip(np.rint(x * 90 / 0.5), -131, 124) * 0.5
    rounded_w = np.clip(np.rint(w / steps), -127, 127) * steps
    h = np.clip(np.rint((rounded_x @ rounded_w.T + b) / 0.25), 0, 255) * 0.25
    y = np.maximum(h, 0) @ v.T
    np.testing.assert_allclose(evaluate(found, [np.asarray(each) for each in given]), 2 * y, 1e-5)


def test_names_that_are_taken() -> None:
    program = NETWORK.replace("b: float32[4]", "x_scale: float32[4]").replace(", b)", ", x_scale)")
    program = program.replace(
        "r = relu(h)\n  y = dense(r, v)", "h_real = relu(h)\n  y = dense(h_real, v)"
    )
    writer = FakeWriter(graph(program), [], {"x": Scale(1.0), "h": Scale(1.0)})
    whole = text(writer.function())
    assert writer.points == {"x": "x_scale_1", "h": "h_scale"}
    assert "h_real_1 = dense(x_rounded, w, x_scale)" in whole
    assert "  h = fake_quantise(h_real_1, h_scale)\n" in whole
    assert "h_real = relu(h)" in whole


def test_a_result_that_is_an_input() -> None:
    """It is rounded, too; and what nothing rounds stays."""
    program = graph("func @f(x: float32[2]):\n  y = relu(x)\n  return x")
    found = FakeWriter(program, [], {"x": Scale(1.0)}).function()
    assert text(found).splitlines()[-3:] == [
        "  x_rounded = fake_quantise(x, x_scale)",
        "  y = relu(x_rounded)",
        "  return x_rounded",
    ]
    assert FakeWriter(program, [], {}).function() == program


def test_origins_stay() -> None:
    """Of a value, and of what it is before it is rounded."""
    program = graph(NETWORK)
    first, *rest = program.body.lets
    body = replace(program.body, lets=(replace(first, origin="conv1"), *rest))
    found = FakeWriter(replace(program, body=body), [FIRST], SCALES).function()
    origins = {let.name: let.origin for let in found.body.lets if let.origin is not None}
    assert origins == {"h_real": "conv1", "h": "conv1"}
