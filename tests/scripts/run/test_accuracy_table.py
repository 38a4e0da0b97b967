"""`scripts.run.accuracy_table`: what to do about the layer that loses most."""

from __future__ import annotations

import pytest
from rich.console import Console

from tandem.compiler.quantise.layer_errors import LayerError
from tandem.scripts.run.accuracy_table import print_losses
from tandem.workbench.accuracy import LayerLosses


def advice(*errors: LayerError, states_scales: bool = False) -> str:
    """What is said below the table, as one line."""
    console = Console(width=400, record=True)
    print_losses(console, LayerLosses(errors, 1, states_scales, of_noise=False))
    return " ".join(console.export_text().partition("at the limits of int8\n")[2].split())


def error(
    name: str, operator: str, own: float, clipped: float = 0.0, readers: tuple[str, ...] = ()
) -> LayerError:
    rounds = operator == "quantise"
    return LayerError(name, name, name, (operator,), own, own, None, clipped, readers, rounds)


@pytest.mark.parametrize(
    ("errors", "wanted"),
    [
        ([error("a", "conv2d", 30.5)], ""),
        (
            [error("b", "conv2d", 35), error("a", "conv2d", 29.5)],
            "a: its own 29.5 dB come of rounding, not of clipping: a few large values or weights "
            "make the steps coarse; --keep-float a computes it in float32",
        ),
        (
            [error("a", "conv2d", 40, 0.02)],
            "a: 2.0% of its results are at the limits of int8, so that its scale is too small for "
            "these inputs: --calibrate with inputs like these, or --keep-float a computes it in "
            "float32",
        ),
        (
            [error("act", "quantise", 20, readers=("c", "d"))],
            "act: its own 20.0 dB come of rounding, not of clipping: a few large values or weights "
            "make the steps coarse; it is float32, rounded for c and d, which --keep-float c "
            "--keep-float d computes in float32, too",
        ),
        (
            [error("a", "conv2d", 5.9)],
            "a: its own 5.9 dB come of rounding, not of clipping: a few large values or weights "
            "make the steps coarse; --keep-float a computes it in float32 errors of half the "
            "values' size and more, below 6 dB: a",
        ),
    ],
)
def test_advice(errors: list[LayerError], wanted: str) -> None:
    assert advice(*errors) == wanted


def test_scales_of_the_model_are_not_to_be_changed() -> None:
    assert advice(error("a", "conv2d", 20, 0.5), states_scales=True) == ""


def test_formats_of_weights_have_a_column() -> None:
    console = Console(width=200, record=True)
    losses = LayerLosses(
        (error("a", "conv2d", 40), error("b", "quantise", 41)), 1, False, of_noise=False
    )
    print_losses(console, losses, {"a": "int4/32"})
    lines = [line.split() for line in console.export_text().splitlines()]
    assert ["a", "conv2d", "int4/32", "40.0", "40.0", "0.00%"] in lines
    assert ["b", "quantise", "41.0", "41.0", "0.00%"] in lines
