"""`tandem.sweep`: a row for each point, as measured alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tandem
from tandem.api.measuring import utilization
from tandem.api.sweeping import sweep
from tandem.scripts.cli import app
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError
from tandem.workbench.pages.picture import encode

LAYERS = {"a": (4, 4, 8, 8, 3, 1, 1)}


def test_points_are_measured_as_alone() -> None:
    found = sweep(LAYERS, "small8", {"latency": (64, 8), "bus_bits": [64, 128]}, memory="ddr")
    assert [*zip(found["latency"], found["bus_bits"], strict=True)] == [
        (8, 64),
        (8, 128),
        (64, 64),
        (64, 128),
    ]
    wide = tandem.Accelerator("small8", bus_bits=128)
    alone = utilization(LAYERS, machine=wide, memory="latency=8,interval=1,in_flight=32")
    for column in ("cycles_without", "cycles_with", "utilization_with"):
        assert found[column][1] == alone[column][0]
    assert found["reason"] == [None] * 4
    assert found.layers["cycles_with"].tolist() == found["cycles_with"].tolist()


def test_the_verb_prints_the_same(tmp_path: Path) -> None:
    found = sweep(LAYERS, "small8", {"latency": (8, 64), "bus_bits": (64, 128)}, seed=1)
    arguments = ["utilization", "--layer", "a=4,4,8,8,3,1,1", "--config", "small8", "--json"]
    arguments += ["--sweep", "latency=8:64:56,bus_bits=64:128", "--seed", "1"]
    arguments += ["--plot", str(tmp_path / "sweep.svg")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)["sweep"]
    names = ("cycles_without", "cycles_with", "utilization_without", "utilization_with")
    for own, layer, theirs in zip(found, found.layers, printed, strict=True):
        assert {name: own[name] for name in theirs["point"]} == theirs["point"]
        assert [own[name] for name in names] == [theirs["total"][name] for name in names]
        assert own["reason"] == theirs["reason"]
        (of_layer,) = theirs["layers"]
        assert {name: layer[name] for name in of_layer} == of_layer
        assert layer["latency"] == own["latency"]
    assert encode(found.plot(), "svg") == (tmp_path / "sweep.svg").read_bytes()


def test_points_that_cannot_be_measured_have_a_reason() -> None:
    found = sweep(LAYERS, "small8", {"bus_bits": (7, 64)})
    assert found[0]["cycles_with"] is None
    assert "bus_bits is 7" in str(found[0]["reason"])
    assert found[1]["reason"] is None
    assert found.layers["bus_bits"].tolist() == [64]


def test_a_chart_has_three_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    axes = {"latency": [8], "interval": [1], "in_flight": [16], "bus_bits": [64]}
    found = sweep(LAYERS, "small8", axes)
    with pytest.raises(ArgumentValueError, match="over at most 3 fields: this has 4"):
        found.plot()
    monkeypatch.setattr("tandem.workbench.pages.write._NEEDED", ("no_such_package",))
    with pytest.raises(MissingPackageError, match="plot needs Altair, which is not installed"):
        found.plot()


@pytest.mark.parametrize(
    ("axes", "kind", "message"),
    [
        ({}, ArgumentTypeError, "axes is {}: it must be a mapping from fields to values"),
        ({"latencies": [1]}, ArgumentValueError, "'latencies': there are latency, .*mean latency"),
        ({"latency": 8}, ArgumentTypeError, r"axes\['latency'\] is 8: it must be whole numbers"),
        ({"latency": []}, ArgumentValueError, r"axes\['latency'\] is empty"),
        ({"latency": [1.5]}, ArgumentTypeError, r"axes\['latency'\] is 1.5: it must be a whole"),
        ({"latency": range(1, 10_002)}, ArgumentValueError, "10,001 points: there may be 10,000"),
        ({"bus_bits": [7]}, ArgumentValueError, "no point of the sweep can be measured"),
    ],
)
def test_refusals(axes: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        sweep(LAYERS, "small8", axes)
