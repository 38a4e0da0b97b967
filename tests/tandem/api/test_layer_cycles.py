"""Tables of where a layer's cycles went: its causes and its path, row by row."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.api.layer_cycles import LayerCycles
from tandem.hw.topology import TokenQueue
from tandem.runtime.artifact import Layer
from tandem.runtime.layer_profiles import LayerProfile
from tandem.sim.why.causes import Cause
from tandem.sim.why.critical_path import Edge, EdgeKind
from tandem.workbench.errors import ArgumentValueError
from tandem.workbench.why import PathEdge, Why

CAUSES = {Cause.GEMM: 1500, Cause.ALU: 0, Cause.WAIT_LOAD: 500}
PATH = (
    PathEdge(Edge(EdgeKind.LOAD, 0, 30, 1), "load inp"),
    PathEdge(Edge(EdgeKind.TOKEN, 30, 31, 4, TokenQueue.LOAD_TO_COMPUTE), "gemm a"),
    PathEdge(Edge(EdgeKind.GEMM, 31, 1931, 4), "gemm a"),
    PathEdge(Edge(EdgeKind.LOAD, 1931, 2000, 6), "load wgt"),
    PathEdge(Edge(EdgeKind.OTHER, 2000, 2000, 7), "finish"),
)


def layer(cycles: int | None = 2000) -> LayerCycles:
    profile = LayerProfile(Layer("C3", ("conv2d",), 64, 8), cycles, CAUSES, 1, 2, 3, 64)
    return LayerCycles(Why(profile, PATH))


def test_causes() -> None:
    found = layer()
    assert (found.layer, found.cycles) == ("C3", 2000)
    assert found.parts.rows == (
        ("products", 1500, 0.75),
        ("ALU", 0, 0.0),
        ("waits for loads", 500, 0.25),
    )
    assert found.parts.names == ("cause", "cycles", "share")
    assert found.parts["cycles"].sum() == found.cycles
    assert [column.kind for column in found.parts.columns] == [str, int, float]


def test_the_path() -> None:
    path = layer().path
    assert path.rows == (
        ("loads", None, 1, "load inp", 0, 30, 30),
        ("tokens", "load->compute", 4, "gemm a", 30, 31, 1),
        ("products", None, 4, "gemm a", 31, 1931, 1900),
        ("loads", None, 6, "load wgt", 1931, 2000, 69),
        ("start and end", None, 7, "finish", 2000, 2000, 0),
    )
    assert path.names == ("kind", "queue", "instruction", "text", "start", "end", "cycles")
    np.testing.assert_array_equal(path["end"][:-1], path["start"][1:])
    with pytest.raises(ArgumentValueError, match="column"):
        path["unit"]


def test_without_time() -> None:
    """A layer of no cycles has no shares to divide."""
    found = layer(None)
    assert found.cycles == 0
    assert [row[2] for row in found.parts.rows] == [1500.0, 0.0, 500.0]


def test_the_text() -> None:
    """Causes without cycles are left out, and so are kinds; the longest kind comes first."""
    lines = repr(layer()).splitlines()
    assert lines[0] == "C3: 2,000 cycles"
    assert [line.split()[0] for line in lines[1:-1] if line.strip()] == [
        "cause",
        "products",
        "waits",
    ]
    assert lines[2].split()[-2:] == ["1,500", "75.0%"]
    assert lines[-1] == "critical path: products 1,900, loads 99, tokens 1"
