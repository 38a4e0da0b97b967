"""Tables of mean cosines: a row for each format and group, a cell for what was measured."""

from __future__ import annotations

from tandem.hw.weight_formats import INT4, TERNARY
from tandem.scripts.bench.sentences.activations import Format
from tandem.scripts.bench.sentences.tables import integers_table, weights_table
from tandem.scripts.bench.sentences.weights_alone import Rounding


def test_weights_alone() -> None:
    means = {
        Rounding(INT4, 128, calibrated=True): 0.98499,
        Rounding(None): 0.99996,
        Rounding(INT4, calibrated=True): 0.99,
        Rounding(INT4): 0.9655,
        Rounding(TERNARY): 0.25,
    }
    assert [*weights_table(means)] == [
        "| weights | bits | nearest | calibrated |",
        "|---|--:|--:|--:|",
        "| int8 | 8 | 1.000 |  |",
        "| int4 in groups of 32 | 4.12 | 0.966 | 0.990 |",
        "| int4 in groups of 128 | 4.03 |  | 0.985 |",
        "| ternary | 2 | 0.250 |  |",
    ]


def test_integers_throughout() -> None:
    means = {Format("int8", smooth=False): 0.875, Format("int8", smooth=True): 0.9968}
    means[Format("int4", smooth=True)] = 0.9805
    assert [*integers_table(means)] == [
        "| weights | plain | `--smooth` |",
        "|---|--:|--:|",
        "| int8 | 0.875 | 0.997 |",
        "| int4 in groups of 32, calibrated |  | 0.981 |",
    ]
