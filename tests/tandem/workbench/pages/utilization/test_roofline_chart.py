"""`--roofline`: points where traffic and cycles put them, and names to read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from tandem.compiler.machines.accelerator.templates.machine_cost import MemoryTiming
from tandem.hw.config_files import load_config
from tandem.hw.isa import work_of
from tandem.hw.memory_model import MEMORY_PRESETS
from tandem.scripts.cli import app
from tandem.sim.engines import make_engine
from tandem.workbench.errors import PageError
from tandem.workbench.pages.utilization.roofline_chart import draw
from tandem.workbench.utilization import ConvLayer, Row, Times, measure
from tandem.workbench.utilization.build import Convolution
from tandem.workbench.utilization.case import make_case
from tandem.workbench.utilization.rows import Traffic

TINY = ["--config", "tiny", "--layer", "a=8,8,8,8,1,1,0", "--layer", "b=6,7,5,9,2,2,1"]
FAST = MEMORY_PRESETS["fast"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["utilization", *arguments])


def test_the_picture(tmp_path: Path) -> None:
    path = tmp_path / "roof.svg"
    result = run(*TINY, "--engine", "cycle", "--roofline", str(path), "--json")
    assert result.exit_code == 0, result.stderr
    assert list(json.loads(result.stdout))[:3] == ["layers", "total", "left_out"]
    tree = ElementTree.parse(path)
    texts = [each.text for each in tree.iter() if each.tag.endswith("text")]
    assert {"a", "b", "16 multipliers", "8 bytes a cycle", "MACs per cycle"} <= set(texts)
    assert "tiny: 1 x 4 x 4 multipliers, 64-bit bus" in path.read_text()


def test_the_points() -> None:
    layer = ConvLayer("x", 8, 8, 8, 8, 1, 1, 0)
    row = Row(layer, Times("x", 1, 4096, 16, 1024, 512), Traffic(512, 900), Traffic(2048, 10))
    svg = draw([row], load_config("tiny"), FAST, "svg").decode()
    found = {
        (float(across), float(up))
        for across, up in re.findall(
            r"MACs per byte: ([\d.]+); MACs per cycle: ([\d.]+); utilisation", svg
        )
    }
    assert found == {(4.55, 4.0), (2.0, 8.0)}


def test_traffic_is_that_of_the_streams() -> None:
    layer, config = ConvLayer("x", 8, 8, 8, 8, 1, 1, 0), load_config("tiny")
    engine = make_engine("functional", config, FAST)
    (row,) = measure(engine, [layer])
    conv = Convolution.of(make_case(layer, 0), config, MemoryTiming(FAST.latency, FAST.interval))
    for threads, traffic in ((1, row.traffic_without), (2, row.traffic_with)):
        work = work_of(conv.build(threads).stream.program)
        assert (traffic.loaded, traffic.stored) == (sum(work.loaded.values()), work.stored)
        assert traffic.stored == 8 * 8 * 8
        assert traffic.loaded > 8 * 8 * 8 + 64


def test_nothing_to_draw() -> None:
    layer = ConvLayer("x", 8, 8, 8, 8, 1, 1, 0)
    nothing = Traffic(0, 0)
    row = Row(layer, Times("x", 1, 4096, 16, 1024, 512), nothing, nothing)
    with pytest.raises(PageError, match="a roofline needs a layer that multiplies and moves"):
        draw([row], load_config("tiny"), FAST, "svg")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["roof.pdf"], "roof.pdf: a plot ends in .svg or .png"),
        (["roof.svg", "--engine", "functional"], "a plot needs cycles: the functional engine has"),
        (["roof.svg", "--sweep", "latency=1:2"], "--roofline shows one machine and one memory: "),
    ],
)
def test_what_is_refused(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*TINY, "--roofline", *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"error: {message}")
    assert list(tmp_path.iterdir()) == []
