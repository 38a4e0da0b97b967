"""The picture: a pair of bars for each convolution and one for all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

from tandem.hw.config_files import load_config
from tandem.hw.memory_model import MEMORY_PRESETS, MemoryModel
from tandem.workbench.pages.utilization.bars import chart, draw
from tandem.workbench.utilization.conv_layers import RESNET18, ConvLayer
from tandem.workbench.utilization.rows import Row, Times, Traffic

TINY, FAST = load_config("tiny"), MEMORY_PRESETS["fast"]


def row(name: str, without: int, hidden: int, count: int = 1) -> Row:
    layer = ConvLayer(name, 8, 8, 8, 8, 1, 1, 0, count)
    nothing = Traffic(0, 0)
    return Row(layer, Times(name, count, 1000, 10, without, hidden), nothing, nothing)


def values(rows: list[Row]) -> list[dict[str, Any]]:
    found: list[list[dict[str, Any]]] = list(chart(rows).to_dict()["datasets"].values())
    (only,) = found
    return only


def texts(rows: list[Row]) -> list[str | None]:
    tree = ElementTree.fromstring(draw(rows, TINY, FAST, "svg").decode())
    return [each.text for each in tree.iter() if each.tag.endswith("text")]


def test_the_bars() -> None:
    rows = [row("a", 400, 200), row("b", 250, 125, count=3)]
    found = [(each["place"], each["way"].split()[0], each["utilisation"]) for each in values(rows)]
    assert found == [
        (0, "without", 0.25),
        (0, "with", 0.5),
        (1, "without", 0.4),
        (1, "with", 0.8),
        (2, "without", 4000 / 11500),
        (2, "with", 4000 / 5750),
    ]


def test_names_and_percentages_are_in_the_picture() -> None:
    written = texts([row("a", 400, 200), row("b", 250, 125, count=3)])
    for wanted in ("a", "b", "total", "25%", "50%", "40%", "80%", "35%", "70%", "utilisation"):
        assert wanted in written
    assert {"without latency hiding", "with latency hiding"} <= set(written)


def test_what_others_published_of_the_same_experiment() -> None:
    """Lines for ResNet-18's convolutions on as many multipliers as TVM had, and for no others."""
    nothing = Traffic(0, 0)
    c2, c3 = RESNET18[:2]

    def same(layer: ConvLayer, multipliers: int = 256) -> Row:
        times = Times(layer.name, layer.count, layer.macs, multipliers, 400_000, 300_000)
        return Row(layer, times, nothing, nothing)

    lines = b"TVM's best layer"
    assert lines in draw([same(c2), same(c3)], TINY, FAST, "svg")
    for other in (same(c3, 64), same(replace(c3, height=9)), row("a", 400, 200)):
        assert lines not in draw([same(c2), other], TINY, FAST, "svg")


def test_names_of_any_kind() -> None:
    names = ['a.b["c"]', "<i>&", "total", "\\", "x" * 90, "größe"]
    written = texts([row(name, 400, 200) for name in names])
    assert [text for text in written if text in names] == [*names, "total"]


def test_order_is_the_rows() -> None:
    names = [f"C{number}" for number in range(12, 1, -1)]
    written = texts([row(name, 400, 200) for name in names])
    assert [text for text in written if text in names] == names


def test_it_is_drawn_the_same_twice() -> None:
    rows = [row("a", 400, 200)]
    assert draw(rows, TINY, FAST, "svg") == draw(rows, TINY, FAST, "svg")
    assert draw(rows, TINY, FAST, "png").startswith(b"\x89PNG")


def test_the_machine_and_the_memory_are_named() -> None:
    rows = [row("a", 400, 200)]
    fast = draw(rows, TINY, FAST, "svg").decode()
    assert "tiny: 1 x 4 x 4 multipliers, 64-bit bus" in fast
    assert "memory fast: latency 16, interval 1, 16 in flight" in fast
    other = draw(rows, TINY.replace(log_block_in=3), MemoryModel(9, 3, 2), "svg").decode()
    assert "tiny: 1 x 8 x 4 multipliers, 64-bit bus" in other
    assert "memory: latency 9, interval 3, 2 in flight" in other
