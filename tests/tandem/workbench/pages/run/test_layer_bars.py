"""Bars by layer: utilisation of those that multiply, bytes moved beside the least."""

from __future__ import annotations

from tandem.workbench.pages.run.layer_bars import byte_bars, utilization_bars
from tandem.workbench.pages.run.layer_rows import rows
from tests.support.workbench.pages.profiles import page, profile
from tests.support.workbench.pages.specs import fields, layer_of, rows_of

LAYERS = (
    profile("a", 100, macs=6_400, loaded=70, stored=30, least=64),
    profile("pool", 50, loaded=5, stored=6, least=7),
    profile("small", 1, loaded=1, stored=2, least=3),
)
ALONE = rows(page(layers=LAYERS, without=None))
PAIR = rows(page(layers=LAYERS[:1], without=(profile("a", 200, macs=6_400),)))


def test_utilisation_of_layers_that_multiply() -> None:
    spec = utilization_bars(ALONE)
    row = {"layer": "a", "hiding": "with", "utilisation": 0.25, "cycles": 100, "MACs": 6_400}
    assert rows_of(spec, layer_of(spec, "bar")) == [row]
    assert spec["height"] == 16
    assert layer_of(spec, "bar")["encoding"]["x"]["scale"]["domain"] == [0, 1]
    spec = utilization_bars(PAIR)
    bars = rows_of(spec, layer_of(spec, "bar"))
    assert [(row["hiding"], row["utilisation"]) for row in bars] == [
        ("without", 0.125),
        ("with", 0.25),
    ]
    assert fields(layer_of(spec, "bar"))[:2] == ["layer", "hiding"]
    assert spec["height"] == 26


def test_bytes_of_all_layers() -> None:
    """Of runs with latency hiding; a layer whose operands all fit has a tick at the end."""
    spec = byte_bars(ALONE)
    found = [[*each.values()] for each in rows_of(spec, layer_of(spec, "bar"))]
    assert found == [
        ["a", "loaded", 0, 70, 64],
        ["a", "stored", 1, 30, 64],
        ["pool", "loaded", 0, 5, 7],
        ["pool", "stored", 1, 6, 7],
        ["small", "loaded", 0, 1, 3],
        ["small", "stored", 1, 2, 3],
    ]
    assert spec["height"] == 3 * 16
    assert layer_of(spec, "tick")["encoding"]["x"]["field"] == "least"
    assert layer_of(spec, "bar")["encoding"]["y"]["sort"] == ["a", "pool", "small"]
