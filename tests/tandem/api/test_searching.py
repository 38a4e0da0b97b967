"""`tandem.search`: a small search, its tables and chart, and refusals."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

import tandem
from tandem.api.search_result import Search
from tandem.api.searching import DEFAULT_SECONDS, search
from tandem.compiler.search.front import pareto_front
from tandem.hw.config_files import dump_config, load_config
from tandem.scripts.cli import app
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError
from tandem.workbench.search.options import Budget, Options
from tests.support.compiler.models.models import one_channel
from tests.support.hw.found_machines import PACKED_FOR_PYNQ

CENTER = tandem.Accelerator(
    "small8",
    name="small",
    log_par_buffer=9,
    bus_bits=128,
    longest_burst=8,
    reads_in_flight=8,
    writes_in_flight=4,
    instruction_queue=4,
    fetch_buffer=8,
    load_buffer=32,
    compute_buffer=32,
)
"""A machine of the space `small`."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Search:
    folder = tmp_path_factory.mktemp("search")
    onnx.save(one_channel(), str(folder / "net.onnx"))
    (folder / "center.json").write_text(dump_config(CENTER.config))
    return search(
        [folder / "net.onnx"],
        budget=6,
        objectives=("cycles", "area", "energy"),
        baseline="small8",
        export=folder / "front",
        storage=f"sqlite:///{folder / 'study.db'}",
        beside=["small8-x"],
        around=CENTER,
        jobs=1,
    )


@pytest.fixture(scope="module")
def printed(found: Search) -> dict[str, Any]:
    """What the verb prints of the same search, and the page that it writes."""
    folder = found.exported[0].parents[1]
    arguments = ["search", str(folder / "net.onnx"), "--budget", "6", "--config", "small8"]
    arguments += [
        "--objectives",
        "cycles,area,energy",
        "--around",
        str(folder / "center.json"),
        "--jobs",
        "1",
    ]
    arguments += ["--storage", f"sqlite:///{folder / 'study.db'}", "--json"]
    arguments += ["--report", str(folder / "verb.html")]
    result: dict[str, Any] = json.loads(CliRunner().invoke(app, arguments).stdout)
    return result


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


def test_the_verb_prints_the_same(found: Search, printed: dict[str, Any]) -> None:
    names = ("cycles", "milliseconds", "area", "dram_bytes", "energy", "mhz", "front", "reason")
    fields = [name for name in found.points.names if name in printed["baseline"]["config"]]
    assert len(fields) > 5
    own = [*found.points, *found.baseline]
    for row, point in zip(own, [*printed["points"], printed["baseline"]], strict=True):
        assert row["area"] == pytest.approx(point["area"], abs=0.5)
        for name in {*names} - {"area"}:
            assert row[name] == point[name]
        for name in {*fields} - {"features"}:
            assert row[name] == point["config"][name]
        assert row["features"] == " ".join(sorted(point["config"]["features"]))
    assert printed["evaluated"] == len(found.points)


def test_machines_may_have_operations(tmp_path: Path) -> None:
    onnx.save(one_channel(), str(tmp_path / "net.onnx"))
    (tmp_path / "mine.json").write_text(
        json.dumps({"base": "small8", "fields": {"longest_burst": [8, 64]}})
    )
    offered = load_config("pynq").replace(alu_operations=PACKED_FOR_PYNQ, alu_stages=4)
    (tmp_path / "found.json").write_text(dump_config(offered))
    found = search(
        [tmp_path / "net.onnx"],
        tmp_path / "mine.json",
        operations=[tmp_path / "found.json"],
        budget=8,
        baseline="small8",
        storage=f"sqlite:///{tmp_path / 'study.db'}",
    )
    rows = {
        (row["alu_operations"], row["alu_stages"], row["longest_burst"]) for row in found.points
    }
    names = {"": 1, PACKED_FOR_PYNQ[0].name: 4}
    assert rows == {(name, names[name], burst) for name in names for burst in (8, 64)}
    for row, machine in zip(found.points, found.machines, strict=True):
        own = machine.config.alu_operations
        assert row["alu_operations"] == " ".join(operation.name for operation in own)
        assert str(row["machine"]).endswith(PACKED_FOR_PYNQ[0].name) is bool(own)
    found.report(tmp_path / "page.html")
    assert PACKED_FOR_PYNQ[0].name in (tmp_path / "page.html").read_text("utf-8")


def test_what_fields_bring(found: Search, printed: dict[str, Any]) -> None:
    assert found.center == CENTER
    center, steps = printed["explain"]["center"], printed["explain"]["steps"]
    assert found.explanation is not None
    assert found.explanation.names == ("change", *found.objectives, "clock", "reason")
    for own, step in zip(found.explanation, steps, strict=True):
        assert own["reason"] == step["reason"]
        if step["point"] is None or step["point"]["cycles"] is None:
            assert own["cycles"] is own["area"] is None
        else:
            assert own["cycles"] == step["point"]["cycles"] / center["cycles"] - 1
            area = step["point"]["area"] / center["area"] - 1
            assert own["area"] == pytest.approx(area, abs=1e-3)
    assert len(repr(found.explanation).splitlines()) <= 24


def test_the_verb_writes_the_same_page(
    found: Search, printed: dict[str, Any], tmp_path: Path
) -> None:
    def content(path: Path) -> str:
        text = path.read_text("utf-8")
        head, footer = text[: text.index("<footer>")], text[text.index("<footer>") :]
        assert ("search.report(" in footer) is (path.name == "page.html")
        # Seconds, and the presets that the verb marks.
        return re.sub(r"\d+ s\b", "", head)[: head.index("</header>")]

    found.report(tmp_path / "page.html")
    assert content(tmp_path / "page.html") == content(found.exported[0].parents[1] / "verb.html")
    with pytest.raises(ArgumentValueError, match=r"page.pdf: a report ends in .html"):
        found.report(tmp_path / "page.pdf")


def test_a_chart(found: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = found.plot().to_dict()
    assert spec["encoding"]["x"]["field"] == "cycles"
    assert sum(map(len, spec["datasets"].values())) == 8
    assert found.beside["machine"] != found.baseline["machine"]
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingPackageError, match="plot needs Altair, which is not installed"):
        found.plot()


def test_one_objective_has_no_chart(found: Search) -> None:
    one = replace(found, objectives=("cycles",))
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
        *(
            (["digits"], {name: value}, ArgumentValueError, f"{name} is {value}: it must be a num")
            for name in ("mhz", "seconds")
            for value in (0, -1.5, float("inf"), float("nan"))
        ),
        (["digits"], {"seconds": True}, ArgumentTypeError, "seconds is True: it must be a number"),
        *(
            (
                ["digits"],
                {name: least - 1},
                ArgumentValueError,
                f"{name} is {least - 1}: it must be",
            )
            for name, least in {"seed": 0, "tune": 0, "synthesise": 0, "jobs": 1}.items()
        ),
        (["digits"], {"objectives": ("area", "area")}, ArgumentValueError, "once"),
        (
            ["digits"],
            {"around": "ultra96"},
            ArgumentValueError,
            "around: ultra96 is no machine of the space small",
        ),
        (["digits"], {"operations": "found.json"}, ArgumentTypeError, "it must be a list of mach"),
        (["digits"], {"operations": ["none.json"]}, ArgumentValueError, "none.json' is neither a"),
        (
            ["digits"],
            {"operations": ["small8"]},
            ArgumentValueError,
            "small8: the machine small8 has no alu_operations to offer",
        ),
        (["digits"], {"beside": [tandem.Cpu()]}, ArgumentTypeError, "it must be an accelerator"),
        (["digits"], {"jobs": 2, "scheduler": "x:1"}, ArgumentValueError, "jobs or scheduler"),
        ([one_channel()], {}, ArgumentValueError, "one_channel is in no file: .*onnx.save"),
    ],
)
def test_refusals(models: Any, options: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        search(models, **options)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"budget": 7}, Budget(7, None)),
        ({"seconds": 2.5}, Budget(None, 2.5)),
        ({}, Budget(None, DEFAULT_SECONDS)),
    ],
    ids=["machines", "seconds", "the default"],
)
def test_how_long_it_takes(
    given: dict[str, Any], wanted: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Begun(Exception):
        """A search that would run now."""

    def begin(options: Options, report: object) -> None:
        assert options.budget == wanted
        raise Begun

    monkeypatch.setattr("tandem.workbench.search.run.run", begin)
    with pytest.raises(Begun):
        search(["digits"], **given)


def test_optuna_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tandem.api.searching.find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"pip install 'tandem-workbench\[search\]'"):
        search([tandem.load("digits")])


def test_a_path_is_a_model(tmp_path: Path) -> None:
    with pytest.raises(ArgumentTypeError, match="must be a list of models"):
        search(tmp_path)  # type: ignore[arg-type]
