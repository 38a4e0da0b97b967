"""The charts' figures: what each draws, and when it is left out."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tandem.sim.why.causes import Cause
from tandem.workbench.pages.charts import ChartSpec
from tandem.workbench.pages.run.figures import figures
from tandem.workbench.pages.run.layer_rows import rows
from tandem.workbench.pages.run.memory_map import memory_map
from tandem.workbench.pages.run.page import Area, AreaKind, Page
from tandem.workbench.pages.run.roofline import layer_runs, roofline
from tandem.workbench.pages.run.style import CAUSE_COLOURS
from tests.support.workbench.pages.profiles import LOSSES, page, profile

ALL = ["causes-total", "utilisation", "causes", "roofline", "bytes", "memory"]


def drawn(made: Page) -> dict[str, ChartSpec]:
    return {each.key: each.spec for each in figures(made)}


def values(spec: ChartSpec, *having: str) -> list[dict[str, Any]]:
    """The rows of a chart's data that have these columns."""
    every = [row for each in spec["datasets"].values() for row in each]
    return [row for row in every if {*having} <= row.keys()]


def test_which_charts_there_are() -> None:
    assert [*drawn(page())] == ALL
    assert [*drawn(page(areas=()))] == ALL[:-1]
    timeless = page(layers=(profile("a", macs=9),), without=None)
    assert [*drawn(timeless)] == ["bytes", "memory"]
    assert not drawn(page(layers=(), without=None, areas=()))


def test_without_products_there_is_no_utilisation_and_no_roofline() -> None:
    pool = profile("pool", 0, 0, 50, operators=("max_pool",))
    found = drawn(page(layers=(pool,), without=None))
    assert [*found] == ["causes-total", "causes", "bytes", "memory"]


def test_utilisation() -> None:
    found = values(drawn(page())["utilisation"], "utilisation")
    assert [(each["layer"], each["hiding"], each["cycles"]) for each in found] == [
        ("stem", "without", 80_321),
        ("stem", "with", 50_851),
        ("head", "without", 1_036),
        ("head", "with", 735),
    ]
    assert found[1]["utilisation"] == pytest.approx(8_765_432 / (50_851 * 256))


def test_accuracy_of_layers() -> None:
    """An error of none has no bar, and a layer without either number is left out."""
    spec = drawn(page(losses=LOSSES))["accuracy"]
    assert [(each["layer"], each["own"], each["sqnr"]) for each in values(spec, "own")] == [
        ("stem", 31.5, 30.25),
        ("pool", None, 29.0),
        ("head", 12.0, 11.5),
    ]
    assert "accuracy" not in drawn(page(losses=replace(LOSSES, in_order=())))


def test_one_run_is_not_said_to_have_latency_hiding() -> None:
    assert "latency hiding" in json.dumps([*drawn(page()).values()])
    for figure in figures(page(without=None)):
        assert "latency hiding" not in figure.text + json.dumps(figure.spec)


def test_causes_of_each_layer_sum_to_its_cycles() -> None:
    found = values(drawn(page())["causes"], "cause")
    made = page()
    assert made.without is not None
    for hiding, layers in (("with", made.layers), ("without", made.without)):
        for layer in layers:
            own = [e for e in found if (e["layer"], e["hiding"]) == (layer.layer.name, hiding)]
            assert {each["cause"]: each["cycles"] for each in own} == {
                cause.value: cycles for cause, cycles in layer.causes.items() if cycles
            }
            assert sum(each["share"] for each in own) == pytest.approx(1)
    assert "with: 50,851" in {each["text"] for each in values(drawn(page())["causes"], "text")}


def test_causes_of_all_layers() -> None:
    found = values(drawn(page(without=None))["causes-total"], "cause")
    assert {each["cause"]: each["cycles"] for each in found} == {
        "products": 40_300,
        "resets": 101,
        "ALU": 16_120,
        "loads by compute": 563,
        "waits for loads": 1_645,
        "waits for stores": 5,
        "start and end": 23,
    }
    (end,) = values(drawn(page(without=None))["causes-total"], "text")
    assert end["text"] == "58,757"


def test_every_cause_has_a_colour_of_its_own() -> None:
    assert {*CAUSE_COLOURS} == {*Cause}
    assert len({*CAUSE_COLOURS.values()}) == len(Cause)


def test_the_roof_bends_where_bus_and_multipliers_are_equal() -> None:
    spec = roofline(layer_runs(rows(page(without=None))), 256, 8.0)
    assert spec is not None
    points = values(spec, "layer")
    assert [each["layer"] for each in points] == ["stem", "head"]
    assert points[0]["intensity"] == pytest.approx(8_765_432 / 54_321)
    assert points[0]["rate"] == pytest.approx(8_765_432 / 50_851)
    (line,) = (
        [*e] for e in spec["datasets"].values() if "text" not in e[0] and "layer" not in e[0]
    )
    assert line[1] == {"intensity": 32.0, "rate": 256}
    assert line[0]["rate"] == pytest.approx(8.0 * line[0]["intensity"])
    assert line[2]["rate"] == 256
    assert line[0]["intensity"] < points[1]["intensity"] < 32.0 < points[0]["intensity"]
    assert {each["text"] for each in values(spec, "text")} == {"256 multipliers", "8 bytes a cycle"}


def test_the_busier_direction_of_the_bus_counts() -> None:
    stores = profile("a", 100, macs=1000, loaded=10, stored=500)
    spec = roofline(layer_runs(rows(page(layers=(stores,), without=None))), 256, 8.0)
    assert spec is not None
    assert [each["intensity"] for each in values(spec, "layer")] == [2.0]


def test_layers_that_move_nothing_are_not_on_the_roofline() -> None:
    still = profile("a", 100, macs=1000, loaded=0, stored=0)
    assert roofline(layer_runs(rows(page(layers=(still,), without=None))), 256, 8.0) is None


def test_bytes() -> None:
    spec = drawn(page())["bytes"]
    assert [each["encoding"]["x"]["field"] for each in spec["layer"]] == ["bytes", "least"]
    found = values(spec, "way")
    assert [(each["layer"], each["way"], each["bytes"], each["least"]) for each in found[:4]] == [
        ("stem", "loaded", 54_321, 2048),
        ("stem", "stored", 1024, 2048),
        ("pool", "loaded", 4096, 2048),
        ("pool", "stored", 6543, 2048),
    ]


def test_the_memory_map() -> None:
    spec = memory_map([Area("w", 256, 1000, AreaKind.WEIGHTS), Area("x", 0, 64, AreaKind.INPUTS)])
    weights, inputs = values(spec, "first")
    assert (weights["first"], weights["end"], weights["range"]) == (256, 1256, "0x100 to 0x4e8")
    assert (weights["kind"], inputs["kind"]) == ("weights", "inputs")
    assert spec["layer"][0]["encoding"]["y"]["sort"] == ["inputs", "weights"]


def test_narrow_areas_are_ticks() -> None:
    wide = Area("wide", 0, 501, AreaKind.WEIGHTS)
    for size, marks in ((1, ["bar", "tick"]), (2, ["bar"])):
        spec = memory_map([wide, Area("narrow", 100, size, AreaKind.NUMBERS)])
        assert [each["mark"]["type"] for each in spec["layer"]] == marks


@pytest.mark.parametrize("made", [page(), page(without=None), page(layers=(), without=None)])
def test_specs_are_as_wide_as_their_place_and_have_a_height(made: Page) -> None:
    for spec in drawn(made).values():
        assert spec["width"] == "container"
        assert isinstance(spec["height"], int)
        assert spec["height"] > 0
