"""`tandem utilization --sweep`: its table, its JSON, its chart, its errors."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from tandem.scripts.cli import app

TINY = ["--config", "tiny", "--layer", "a=8,8,8,8,1,1,0", "--layer", "b=6,7,5,9,2,2,1"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["utilization", *arguments])


def test_json() -> None:
    result = run(*TINY, "--sweep", "latency=0:8:4,interval=1:2", "--json")
    assert result.exit_code == 0, result.stderr
    written = json.loads(result.stdout)
    assert list(written) == ["config", "memory", "engine", "sweep"]
    refused, _, entry, *_ = written["sweep"]
    assert [each["point"] for each in written["sweep"]] == [
        {"latency": latency, "interval": interval} for latency in (0, 4, 8) for interval in (1, 2)
    ]
    assert [list(each) for each in (refused, entry)] == [["point", "total", "layers", "reason"]] * 2
    assert refused["reason"] == "memory latency is 0: it must lie in 1..1000000"
    first, second = entry["layers"]
    single = run(*TINY, "--engine", "cycle", "--memory", "latency=4", "--json")
    alone = {"layers": entry["layers"], "total": entry["total"], "left_out": []}
    where = {"config": "tiny", "memory": "latency=4", "engine": "cycle"}
    assert json.loads(single.stdout) == {**alone, **where}
    assert entry["total"]["cycles_with"] == first["cycles_with"] + second["cycles_with"]


def test_the_table() -> None:
    result = run(*TINY, "--sweep", "latency=8:16,log_par_buffer=3:6", "--memory", "ddr")
    assert result.exit_code == 0, result.stderr
    lines = result.output.splitlines()
    assert lines[:2] == [
        "convolutions on tiny, engine cycle, memory ddr, but at each point:",
        "all of a, b, without latency hiding and with it",
    ]
    number, share = r"[\d,]+", r"\d+\.\d%"
    for latency in (8, 16):
        line = rf"^latency={latency} log_par_buffer=6 +{number} +{number} +{share} +{share}$"
        assert len(re.findall(line, result.output, re.MULTILINE)) == 1
    assert lines[-1] == "all results equal to NumPy's"
    assert "not measured: latency=8 log_par_buffer=3, and 1 more: log_par_buffer is 3" in " ".join(
        lines
    )


def test_the_table_fits() -> None:
    fields = (
        "instruction_queue=2048:4096",
        "writes_in_flight=128:128",
        "compute_buffer=65536:65536",
    )
    output = run(*TINY[:4], "--sweep", ",".join(fields)).output
    assert max(map(len, output.splitlines())) <= 80
    rows = re.findall(r"^(instruction_queue=.*?)  .*%", output, re.MULTILINE)
    assert len(rows) == 2


@pytest.mark.parametrize(
    ("sweep", "wanted"),
    [
        ("latency=8:32", {"8", "16", "32", "latency"}),
        ("latency=8:16,interval=1:2", {"interval", "1", "2"}),
        ("latency=8:16,interval=1:2,in_flight=4:8", {"in_flight", "4", "8", "interval"}),
    ],
)
def test_the_chart(tmp_path: Path, sweep: str, wanted: set[str]) -> None:
    path = tmp_path / "lines.svg"
    result = run(*TINY[:4], "--sweep", sweep, "--plot", str(path), "--json")
    assert result.exit_code == 0, result.stderr
    texts = {text.text for text in ElementTree.parse(path).iter() if text.tag.endswith("text")}
    ways = {"without latency hiding", "with latency hiding"}
    assert wanted | ways | {"latency", "utilisation", "100%"} <= texts


def test_a_chart_of_four_fields(tmp_path: Path) -> None:
    fields = ("latency", "interval", "in_flight", "load_buffer")
    sweep = ",".join(f"{field}=64:64" for field in fields)
    result = run(*TINY, "--sweep", sweep, "--plot", str(tmp_path / "lines.svg"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "error: a plot shows a sweep over at most 3 fields: this has 4\n"


def test_a_text_that_is_no_sweep_is_wrong_usage() -> None:
    result = run("--sweep", "latency=16:8")
    assert (result.exit_code, result.stdout) == (2, "")
    said = " ".join(re.sub(r"[│╭╮╰╯─]", " ", result.stderr).split())
    assert "Invalid value for '--sweep': sweep 'latency=16:8': 16 is above 8" in said


@pytest.mark.parametrize("engine", ["functional", "rtl", "pysim"])
def test_other_engines(engine: str) -> None:
    result = run("--sweep", "latency=8:16", "--engine", engine)
    assert (result.exit_code, result.stdout) == (1, "")
    message = f"error: --sweep is measured by the cycle engine, not by {engine}\n"
    assert result.stderr == message


def test_the_engine_by_name() -> None:
    result = run(*TINY, "--sweep", "latency=8:8", "--engine", "cycle")
    assert result.exit_code == 0, result.stderr


def test_no_point_that_can_be_measured() -> None:
    result = run(*TINY, "--sweep", "load_buffer=100:101:1")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "error: no point of the sweep can be measured; load_buffer=100: load_buffer is 100: it "
        "must be a power of two, such as 64 or 128\n"
    )
