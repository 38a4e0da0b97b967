"""The charts of a search for operations: the front, and networks by machine."""

from __future__ import annotations

from tandem.workbench.pages.discovery.figures import figures
from tandem.workbench.pages.discovery.page import DiscoveryPage
from tests.support.workbench.found_operations import found_operations
from tests.support.workbench.pages.specs import layer_of, rows_of

PAGE = DiscoveryPage(found_operations(), "fast", "tandem discover digits")


def test_charts() -> None:
    """A network without the extension has two bars."""
    front, networks = figures(PAGE)
    assert (front.key, front.leads, networks.key, networks.leads) == (
        *("front", True, "networks", False),
    )
    points = rows_of(front.spec, layer_of(front.spec, "point"))
    assert points == [
        {"tables": 120, "ratio": 0.9, "operations": "int32(a + b) >> shift"},
        {"tables": 0, "ratio": 1.0, "operations": "none"},
    ]
    assert front.spec["height"] == 320
    bars = layer_of(networks.spec, "bar")
    rows = [(row["model"], row["machine"], row["cycles"]) for row in rows_of(networks.spec, bars)]
    assert rows == [
        ("digits", "small8", 1_000),
        ("digits", "with what was found", 900),
        ("digits", "with the extension", 800),
        ("other", "small8", 500),
        ("other", "with what was found", 500),
    ]
    assert bars["encoding"]["y"]["sort"] == ["digits", "other"]
    # Three bars of 26 pixels for each network, and the axis.
    assert networks.spec["height"] == 80 + 2 * 3 * 26


def test_reasons_are_counted() -> None:
    assert PAGE.reasons == (("parameters of 19 bits", 2),)
    assert dict(PAGE.versions).keys() == {"tandem-workbench", "z3-solver"}
