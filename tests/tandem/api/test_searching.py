"""`tandem.search`: a small search, its tables and chart, and refusals."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import tandem
from tandem.api.searching import Search, search
from tandem.compiler.search.front import pareto_front
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError
from tests.support.compiler.models.models import one_channel


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Search:
    folder = tmp_path_factory.mktemp("search")
    onnx.save(one_channel(), str(folder / "net.onnx"))
    return search(
        [folder / "net.onnx"],
        budget=6,
        objectives=("cycles", "area", "energy"),
        baseline="small8",
        export=folder / "front",
        storage=f"sqlite:///{folder / 'study.db'}",
    )


def test_points(found: Search) -> None:
    points = found.points
    assert len(points) == len(found.machines) == 6
    for row, machine in zip(points, found.machines, strict=True):
        assert row["log_block_in"] == machine.config.log_block_in
        assert row["bus_bits"] == machine.config.bus_bits
    assert len(found.baseline) == 1
    assert found.seconds > 0


def test_the_front_is_that_of_the_objectives(found: Search) -> None:
    costs = np.stack([found.points[name] for name in found.objectives], axis=1)
    assert set(np.flatnonzero(found.points["front"])) == set(pareto_front(costs.tolist()))
    front = found.front
    assert (np.diff(front["cycles"]) >= 0).all()
    assert len(front) == len(found.front_machines)
    assert found._repr_html_().count("<tr>") == len(front) + 1
    assert [tandem.Accelerator(folder / "config.json").macs for folder in found.exported] == [
        machine.macs for machine in found.front_machines
    ]
    lines = repr(found).splitlines()
    assert lines[0].split() == ["machine", "cycles", "area", "energy"]
    assert lines[-1].startswith(f"6 machines, {len(front)} on the front, in ")


def test_a_chart(found: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    chart: Any = found.plot()
    spec = chart.to_dict()
    assert spec["encoding"]["x"]["field"] == "cycles"
    assert sum(map(len, spec["datasets"].values())) == 7
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingPackageError, match="plot needs Altair, which is not installed"):
        found.plot()


def test_one_objective_has_no_chart(found: Search) -> None:
    one = Search(found.points, found.machines, found.baseline, ("cycles",), 1.0)
    with pytest.raises(ArgumentValueError, match="a chart shows two objectives"):
        one.plot()


@pytest.mark.parametrize(
    ("models", "options", "kind", "message"),
    [
        ("digits", {}, ArgumentTypeError, "models is 'digits': it must be a list of models"),
        ([], {}, ArgumentValueError, "models: there must be one or more, each once"),
        (["digits", "digits"], {}, ArgumentValueError, "models: there must be one or more, each"),
        (["digits"], {"space": "tiny"}, ArgumentValueError, "tiny"),
        (["digits"], {"objectives": ("speed",)}, ArgumentValueError, "no objective 'speed': there"),
        (["digits"], {"objectives": ()}, ArgumentValueError, "objectives are "),
        (["digits"], {"weights": (1, 2)}, ArgumentValueError, "2 weights for 1 models"),
        (
            ["digits"],
            {"weights": (0,)},
            ArgumentValueError,
            "a weight is 0: it must be a number ab",
        ),
        (["digits"], {"budget": 0}, ArgumentValueError, "budget is 0: it must be 1 or more"),
        (["digits"], {"budget": 1, "seconds": 1}, ArgumentValueError, "one of them"),
        (
            ["digits"],
            {"explorer": "best"},
            ArgumentValueError,
            "no explorer 'best': there are nsga",
        ),
        (
            ["digits"],
            {"mhz": "fast"},
            ArgumentTypeError,
            "mhz is 'fast': it must be a number above",
        ),
        (["digits"], {"jobs": 2, "scheduler": "x:1"}, ArgumentValueError, "jobs or scheduler"),
        ([one_channel()], {}, ArgumentValueError, "one_channel is in no file: .*onnx.save"),
    ],
)
def test_refusals(models: Any, options: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        search(models, **options)


def test_optuna_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tandem.api.searching.find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"pip install 'tandem-workbench\[search\]'"):
        search([tandem.load("digits")])


def test_a_path_is_a_model(tmp_path: Path) -> None:
    with pytest.raises(ArgumentTypeError, match="must be a list of models"):
        search(tmp_path)  # type: ignore[arg-type]
