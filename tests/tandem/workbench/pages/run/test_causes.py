"""Charts of cycles by cause: stacked parts, and labels at the ends of bars."""

from __future__ import annotations

from tandem.sim.why.causes import Cause
from tandem.workbench.pages.run.causes import cause_bars, cause_totals
from tandem.workbench.pages.run.layer_rows import rows
from tandem.workbench.pages.run.style import CAUSE_COLOURS
from tests.support.workbench.pages.profiles import page, profile
from tests.support.workbench.pages.specs import fields, layer_of, rows_of

LAYERS = (profile("a", 30, 0, 10), profile("b", 0, 5))
PLAIN = (profile("a", 40, 0, 20), profile("b", 0, 40))
ALONE = rows(page(layers=LAYERS, without=None))
BOTH = rows(page(layers=LAYERS, without=PLAIN))


def test_parts_of_each_layer() -> None:
    spec = cause_bars(ALONE)
    bars = layer_of(spec, "bar")
    assert rows_of(spec, bars) == [
        {
            "layer": "a",
            "hiding": "with",
            "cause": Cause.GEMM.value,
            "order": 0,
            "cycles": 30,
            "share": 0.75,
        },
        {
            "layer": "a",
            "hiding": "with",
            "cause": Cause.ALU.value,
            "order": 2,
            "cycles": 10,
            "share": 0.25,
        },
        {
            "layer": "b",
            "hiding": "with",
            "cause": Cause.RESET.value,
            "order": 1,
            "cycles": 5,
            "share": 1.0,
        },
    ]
    assert fields(bars) == ["layer", "cause", "cycles", "share"]
    assert bars["encoding"]["x"]["scale"]["domain"] == [0, 48.0]
    assert bars["encoding"]["color"]["scale"]["range"] == [*CAUSE_COLOURS.values()]
    labels = rows_of(spec, layer_of(spec, "text"))
    assert [(each["cycles"], each["text"]) for each in labels] == [(40, "40"), (5, "5")]
    # Two bars of 10 pixels, and gaps of 6.
    assert spec["height"] == 32


def test_pairs_say_which_is_which() -> None:
    spec = cause_bars(BOTH)
    labels = rows_of(spec, layer_of(spec, "text"))
    texts = [(each["layer"], each["text"]) for each in labels]
    assert texts == [
        ("a", "without: 60"),
        ("a", "with: 40"),
        ("b", "without: 40"),
        ("b", "with: 5"),
    ]
    assert fields(layer_of(spec, "bar"))[1] == "hiding"
    assert spec["height"] == 2 * 26


def test_totals() -> None:
    spec = cause_totals(BOTH)
    labels = rows_of(spec, layer_of(spec, "text"))
    assert [(each["layer"], each["text"]) for each in labels] == [
        ("all layers", "without: 100"),
        ("all layers", "with: 45"),
    ]
    bars = rows_of(spec, layer_of(spec, "bar"))
    parts = [(row["hiding"], row["cause"], row["cycles"], row["share"]) for row in bars]
    assert parts == [
        ("without", Cause.GEMM.value, 40, 0.4),
        ("without", Cause.RESET.value, 40, 0.4),
        ("without", Cause.ALU.value, 20, 0.2),
        ("with", Cause.GEMM.value, 30, 30 / 45),
        ("with", Cause.RESET.value, 5, 5 / 45),
        ("with", Cause.ALU.value, 10, 10 / 45),
    ]
    assert spec["height"] == 46
