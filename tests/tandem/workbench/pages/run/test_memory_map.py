"""The memory map: boxes, their order, and ticks in the place of the narrowest."""

from __future__ import annotations

from tandem.workbench.pages.run.memory_map import memory_map
from tandem.workbench.pages.run.page import Area, AreaKind
from tests.support.workbench.pages.specs import layer_of, rows_of

AREAS = (
    Area("w", 0, 400, AreaKind.WEIGHTS),
    Area("x", 0x400, 2, AreaKind.INPUTS),
    Area("y", 0x500, 3, AreaKind.OUTPUTS),
    Area("program", 950, 50, AreaKind.INSTRUCTIONS),
    Area("v", 0x100, 1, AreaKind.WEIGHTS),
)


def test_boxes() -> None:
    spec = memory_map(AREAS)
    box = layer_of(spec, "bar")
    found = rows_of(spec, box)
    assert found[0] == {
        "name": "w",
        "kind": "weights",
        "first": 0,
        "end": 400,
        "bytes": 400,
        "range": "0x0 to 0x190",
    }
    assert [each["range"] for each in found[1:3]] == ["0x400 to 0x402", "0x500 to 0x503"]
    # In the order of kinds, whatever that of areas.
    order = ["inputs", "outputs", "weights", "instructions"]
    assert box["encoding"]["y"]["sort"] == box["encoding"]["color"]["scale"]["domain"] == order
    assert box["encoding"]["color"]["scale"]["range"] == [
        "#56B4E9",
        "#CC79A7",
        "#0072B2",
        "#9AA1A9",
    ]
    assert spec["height"] == 120


def test_narrow_areas_have_ticks() -> None:
    """The map ends at 0x503, 1283: up to 2.566 bytes are narrow."""
    spec = memory_map(AREAS)
    assert [each["name"] for each in rows_of(spec, layer_of(spec, "tick"))] == ["x", "v"]
    edge = (Area("whole", 0, 1000, AreaKind.INPUTS), Area("edge", 0, 2, AreaKind.INPUTS))
    spec = memory_map(edge)
    assert [each["name"] for each in rows_of(spec, layer_of(spec, "tick"))] == ["edge"]
    assert len(memory_map(AREAS[:1])["layer"]) == 1
