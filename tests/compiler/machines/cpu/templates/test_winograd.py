"""Winograd's algorithm against ONNX's reference, within its stated tolerance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tandem.compiler import te
from tandem.compiler.graph import Call, Constant, Function, Var
from tandem.compiler.graph.passes import InferTypes
from tandem.compiler.ir.expr import Expr
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.machines.cpu.templates.register_tiles import Tile
from tandem.compiler.machines.cpu.templates.winograd import (
    TOLERANCE,
    WinogradLayer,
    schedule_winograd_conv2d,
    winograd_conv2d,
)
from tandem.compiler.machines.cpu.templates.winograd_transforms import TRANSFORMS
from tandem.compiler.plan.planner import Planner
from tandem.compiler.te import Tensor, compute
from tandem.compiler.te.build import program_of
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.operators.operators import Array, given_as, numbers, onnx

HOST = CpuTarget.host(1)
WIDE = replace(HOST, features=tuple(sorted({*HOST.features, "avx2", "avx512f", "fma"})))
"""With vectors of 512 bits, to plan for only."""
TARGETS = {"host": HOST, "avx2": HOST.without("avx512f")}


def layer(arrays: dict[str, Array], target: CpuTarget, **options: Any) -> WinogradLayer:
    tensors = {name: given_as(name, array) for name, array in arrays.items()}
    simd = Simd.of(target)
    bias = tensors.get("B")
    return winograd_conv2d(tensors["X"], tensors["W"], bias=bias, simd=simd, **options)


def run(
    conv: WinogradLayer, arrays: dict[str, Array], target: CpuTarget, out: Tensor | None = None
) -> Array:
    (weights,) = compile_function(program_of(conv.packings), target)(arrays["W"])
    schedule = schedule_winograd_conv2d(conv, conv.output if out is None else out)
    others = [array for name, array in arrays.items() if name not in ("X", "W")]
    (result,) = compile_function(schedule.program, target)(arrays["X"], weights, *others)
    return result


def reference(arrays: dict[str, Array], padding: Any) -> tuple[Array, float]:
    """The exact result, and the largest sum of the magnitudes of an output's products."""
    wide = {name: array.astype("float64") for name, array in arrays.items()}
    exact = onnx("Conv", wide["X"], wide["W"], wide.get("B"), pads=padding)
    sums = onnx("Conv", np.abs(wide["X"]), np.abs(wide["W"]), None, pads=padding)
    return exact, float(sums.max())


@pytest.mark.every(5)
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("outputs", TRANSFORMS)
@pytest.mark.parametrize(
    ("image", "channels", "padding", "tile"),
    [
        ((1, 5, 8, 8), 16, (1, 1, 1, 1), Tile(16, 1, 2)),
        ((2, 3, 9, 13), 32, (1, 1, 1, 1), Tile(16, 2, 1)),
        ((1, 17, 12, 10), 48, (0, 2, 1, 0), Tile(48, 1, 1)),
        ((1, 4, 3, 3), 16, (0, 0, 0, 0), Tile(16, 1, 1)),
        ((1, 64, 15, 15), 32, (1, 1, 1, 1), Tile(32, 2, 3)),
    ],
)
def test_against_onnx(
    image: tuple[int, ...],
    channels: int,
    padding: tuple[int, ...],
    tile: Tile,
    outputs: int,
    target: CpuTarget,
) -> None:
    arrays = {"X": numbers(1, image), "W": numbers(2, (channels, image[1], 3, 3))}
    if channels > 16:
        arrays["B"] = numbers(3, (channels,))
    conv = layer(arrays, target, outputs=outputs, tile=tile, padding=padding)
    exact, magnitude = reference(arrays, padding)
    assert np.abs(run(conv, arrays, target) - exact).max() <= TOLERANCE[outputs] * magnitude


@pytest.mark.parametrize("outputs", TRANSFORMS)
def test_the_transforms_are_exact(outputs: int) -> None:
    """In one dimension: A^T ((G g) * (B^T d)) is the correlation, up to float64's rounding."""
    transform = TRANSFORMS[outputs]
    generator = np.random.default_rng(1)
    for _ in range(20):
        d, g = generator.standard_normal(outputs + 2), generator.standard_normal(3)
        products = (np.array(transform.weight) @ g) * (np.array(transform.data) @ d)
        found = np.array(transform.output) @ products
        np.testing.assert_allclose(found, np.correlate(d, g, "valid"), atol=1e-12)


def test_what_follows_is_computed_on_the_tile() -> None:
    arrays = {
        "X": numbers(1, (1, 8, 14, 14)),
        "W": numbers(2, (32, 8, 3, 3)),
        "B": numbers(3, (32,)),
        "R": numbers(4, (1, 32, 14, 14)),
    }
    padding = (1, 1, 1, 1)
    options = {"outputs": 4, "tile": Tile(32, 2, 2), "padding": padding}
    conv = layer({name: arrays[name] for name in "XWB"}, HOST, **options)
    residual = given_as("R", arrays["R"])

    def add(n: Expr, c: Expr, y: Expr, x: Expr) -> Expr:
        return conv.output[n, c, y, x] + residual[n, c, y, x]

    added = compute(conv.output.shape, add, "added")
    relu = compute(added.shape, lambda *i: te.maximum(added[i], 0.0), "relu", [*"nchw"])
    exact, magnitude = reference({name: arrays[name] for name in "XWB"}, padding)
    wanted = np.maximum(exact + arrays["R"], 0)
    assert np.abs(run(conv, arrays, HOST, relu) - wanted).max() <= TOLERANCE[4] * magnitude


@pytest.mark.every(3)
@pytest.mark.parametrize("tile", [Tile(16, 1, 5), Tile(48, 5, 1)])
@pytest.mark.parametrize("batch", [1, 2])
def test_threads_agree(tile: Tile, batch: int) -> None:
    """Threads share rows of tiles, or where these are one the channels."""
    arrays = {"X": numbers(1, (batch, 8, 20, 20)), "W": numbers(2, (48, 8, 3, 3))}
    conv = layer(arrays, HOST, outputs=4, tile=tile, padding=(1, 1, 1, 1))
    np.testing.assert_array_equal(run(conv, arrays, HOST), run(conv, arrays, CpuTarget.host(2)))


def planned(attributes: str, image: str, weight: str, dtype: str = "float32") -> str:
    """The template of a kernel's convolution, on a processor with wide vectors."""
    kernel: Function = InferTypes().apply(
        graph(f"""
kernel @k(x: {dtype}[{image}], w: {dtype}[{weight}]):
  c = conv2d(x, w{attributes})
  return c
""")
    )
    type_ = kernel.params[1].type
    shape = [int(extent) for extent in weight.split(", ")]
    constant = Constant(np.ones(shape, dtype))
    assert constant.type == type_
    plan = Planner(cpu(WIDE)).layer(Call(kernel, (Var("x"), constant)))
    assert plan is not None
    return plan.template.name


def test_where_it_is_used() -> None:
    image, weight, padding = "1, 64, 56, 56", "64, 64, 3, 3", ", padding=[1, 1, 1, 1]"
    assert planned(padding, image, weight) == "winograd"
    assert planned(f"{padding}, strides=[2, 2]", image, weight) == "conv2d"
    assert planned(f"{padding}, dilation=[2, 2]", image, weight) == "conv2d"
    assert planned(f"{padding}, groups=2", image, "64, 32, 3, 3") == "conv2d"
    assert planned("", image, "64, 64, 1, 1") == "conv2d"
    assert planned(padding, image, weight, "int8") == "conv2d"
    assert planned(padding, image, "40, 64, 3, 3") == "conv2d"
    assert planned(padding, "1, 4, 8, 8", "16, 4, 3, 3") == "conv2d"
