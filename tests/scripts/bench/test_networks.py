"""The benchmark of networks: what it measures, keeps and shows; the page has its table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from tandem.scripts.bench import networks
from tandem.scripts.bench.network_bars import draw
from tandem.scripts.bench.network_figures import (
    Figures,
    OnMachine,
    measure,
    read_figures,
    write_figures,
)
from tandem.scripts.bench.networks import bars, main, table
from tests.support.compiler.frontends.onnx_models import model

DOCS = Path(__file__).parents[3] / "docs"
SLOW = OnMachine(900, 400, 0.5, 2, 3, 0.002)
FAST = OnMachine(1000, 200_000, 0.25, 1, 4, 0.001)
FIGURES = {
    "vit": Figures(1000, 31.25, "a processor", 0.003, {"pynq": SLOW, "pynq-x": FAST}),
    "vit-tiny": Figures(2000, 20.0, "a processor", 0.003, {"pynq": SLOW, "pynq-x": FAST}),
}


def test_the_table() -> None:
    heading, rule, first, second = table(FIGURES)
    assert heading.count("|") == rule.count("|") == first.count("|") == second.count("|")
    assert first == (
        "| `vit` | 1,000 | 100.0% | 400 | 50.0% | 200,000 | 25.0% | 1 | 4 | 1.00 | 3.00 | 31.2 |"
    )
    assert "| 50.0% |" in second


def test_the_picture_has_standard_sizes() -> None:
    """200,000 cycles at 100 MHz are 2 ms, and the CPU takes another."""
    ((name, times),) = bars(FIGURES)
    assert name == "vit"
    assert list(times.values()) == pytest.approx([3.0, 1.0, 3.0])
    text = draw([(name, times)]).decode()
    for what in (name, *times):
        assert what in text


def test_figures_are_kept_in_order(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    assert read_figures(path) == {}
    write_figures(path, FIGURES, ["vit-tiny", "bert", "vit"])
    assert read_figures(path) == FIGURES
    assert list(read_figures(path)) == ["vit-tiny", "vit"]


def test_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    weight = np.random.default_rng(0).normal(size=(4, 4, 1, 1)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Softplus", ["c"], ["y"]),
    ]
    path = tmp_path / "small.onnx"
    onnx.save(model(nodes, {"x": (1, 4, 4, 4)}, ["y"], {"w": weight}), path)
    found = measure(str(path), ("tiny", "tiny-x"), rounds=1)
    assert found.products == 4 * 4 * 16
    assert found.sqnr > 20
    for on in found.machines.values():
        assert (on.products, on.launches) == (found.products, 1)
        assert on.utilization == on.products / (16 * on.cycles)
        assert 0 < on.seconds
    monkeypatch.setattr(networks, "measure", lambda name, rounds: FIGURES["vit"])
    figures = tmp_path / "figures.json"
    assert main([str(path), "--figures", str(figures), "--plot", str(tmp_path / "a.svg")]) == 0
    assert read_figures(figures) == {"small": FIGURES["vit"]}
    assert "`small`" in capsys.readouterr().out
    assert (tmp_path / "a.svg").read_text().startswith("<svg")


def test_the_page_shows_the_figures() -> None:
    page = (DOCS / "networks.md").read_text()
    figures = read_figures(DOCS / "networks.json")
    assert figures
    for line in table(figures):
        assert line in page
