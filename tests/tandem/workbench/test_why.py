"""`tandem run --why LAYER`: its text, its JSON, its errors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from tandem.scripts.cli import app
from tandem.sim.why.causes import Cause
from tandem.sim.why.critical_path import EdgeKind

LAYER = "blocks_blocks_0_Relu_output_0"
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs digits with some options."""
    path = str(tmp_path_factory.mktemp("why") / "digits.tandem")
    options = ["digits", "--config", "small8", "--memory", "edge", "-o", path]
    assert CliRunner().invoke(app, ["compile", *options]).exit_code == 0

    def runs(*arguments: str, engine: str = "cycle") -> Result:
        options = ["run", path, "--engine", engine, "--memory", "edge"]
        return CliRunner().invoke(app, [*options, *arguments])

    return runs


@pytest.fixture(scope="module")
def written(run: Run) -> Any:
    result = run("--why", LAYER, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_json(written: Any) -> None:
    why = written["why"]
    assert list(why) == ["layer", "cycles", "parts", "path"]
    (layer,) = [each for each in written["layers"] if each["name"] == LAYER]
    assert (why["layer"], why["cycles"]) == (LAYER, layer["cycles"])
    assert list(why["parts"]) == [cause.name.lower() for cause in Cause]
    assert sum(why["parts"].values()) == why["cycles"]
    assert min(why["parts"].values()) >= 0


def test_the_path_fills_the_layer(written: Any) -> None:
    why = written["why"]
    names = [layer["name"] for layer in written["layers"] if layer["device"] == "accelerator"]
    before = sum(
        layer["cycles"]
        for layer in written["layers"]
        if layer["name"] in names[: names.index(LAYER)]
    )
    at = before
    for edge in why["path"]:
        assert (edge["start"], edge["end"] - edge["start"]) == (at, edge["cycles"])
        assert edge["kind"] in {kind.name.lower() for kind in EdgeKind}
        assert re.match(r"(LOAD|STORE|GEMM|ALU|FINISH)\b", edge["text"])
        at = edge["end"]
    assert at == before + why["cycles"]
    queues = {edge["queue"] for edge in why["path"] if edge["kind"] == "token"}
    assert queues & {"load->compute", "compute->load", "compute->store", "store->compute"}


def test_without_the_option_there_is_no_entry(run: Run) -> None:
    assert "why" not in json.loads(run("--json").stdout)


def test_text(run: Run, written: Any) -> None:
    result = run("--why", LAYER)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    why = written["why"]
    begin = lines.index(f"why {LAYER} takes {why['cycles']:,} cycles:")
    rest = "\n".join(lines[begin:])
    for cause in Cause:
        cycles = why["parts"][cause.name.lower()]
        line = rf"^{cause.value} +{cycles:,} +{cycles / why['cycles']:.1%}$"
        assert bool(re.search(line, rest, re.MULTILINE)) is bool(cycles)
    path = rest[rest.index("its critical path") : rest.index("longest")]
    shown = [int(each.replace(",", "")) for each in re.findall(r" ([\d,]+) +[\d.]+%$", path, re.M)]
    assert shown == sorted(shown, reverse=True)
    assert sum(shown) == why["cycles"]
    longest = max(why["path"], key=lambda edge: edge["cycles"])
    assert f"{longest['cycles']:,}" in rest[rest.index("longest") :]


def test_of_several_batches_the_first(run: Run, tmp_path: Path, written: Any) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 1, 8, 8), np.float32))
    result = run("--why", LAYER, "--json", "--input", str(tmp_path / "x.npy"))
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["why"] == written["why"]


def test_the_page(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert run("--report", str(path), "--json").exit_code == 0
    assert f'<tr><td class="text">{LAYER}</td>' in path.read_text().split('<section id="why">')[1]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "blocks_blocks_0_Relu",
            "--why: no layer of the accelerator is called 'blocks_blocks_0_Relu': there are "
            "blocks_blocks_0_Relu_output_0, ",
        ),
        ("Relu", "--why: no layer of the accelerator is called 'Relu': there are "),
    ],
)
def test_a_layer_that_is_not_there(run: Run, name: str, message: str) -> None:
    result = run("--why", name)
    assert (result.exit_code, result.stdout) == (1, "")
    assert re.fullmatch(rf"error: {re.escape(message)}.*, and \d others\n", result.stderr)


def test_runs_without_cycles(run: Run) -> None:
    result = run("--why", LAYER, engine="functional")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "error: --why needs cycles: the functional engine has no time\n"


def test_on_the_cpu_there_is_nothing_to_explain() -> None:
    result = CliRunner().invoke(app, ["run", "digits", "--why", LAYER, "--device", "cpu"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "error: --why is for --device accelerator: with --device cpu all is on the CPU\n"
    )
