"""Cost models side by side: what they read, how they are judged, and what the script prints."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tandem.compiler.tune.candidates import Candidates
from tandem.compiler.tune.tasks import Task
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.scripts.bench.held_out_programs import Programs
from tandem.scripts.bench.program_models import MODELS, Judged, gains, judged, main
from tandem.scripts.bench.tuning_model import Ranking
from tandem.workbench.devices import Accelerator
from tandem.workbench.utilization.conv_layers import parse_layer
from tandem.workbench.utilization.tasks import tasks_of_layers

LAYERS = ("a=4,4,8,8,1,1,0", "b=2,4,8,16,1,1,0", "c=3,3,16,8,1,1,0")


def programs(task: Task, count: int = 12) -> Programs:
    """Some choices, which cost 1.1 to 1.3 times their bounds, by how many threads there are."""
    candidates = Candidates.of(task.target, task.template, task.workload)
    rows = np.linspace(0, len(candidates) - 1, count).astype(np.int64)
    factor = 0.9 + 0.2 * candidates.choices["threads"][rows]
    return Programs(task, Ranking(candidates, rows, candidates.bounds[rows] * factor))


@pytest.fixture(scope="module")
def layers() -> list[Programs]:
    machine = Accelerator(load_config("small8"), parse_memory("fast"), hiding=True)
    tasks = tasks_of_layers([parse_layer(text) for text in LAYERS], machine, 0)
    return [programs(task) for task in tasks]


def test_what_models_read_is_of_the_same_programs(layers: list[Programs]) -> None:
    first = layers[0]
    candidates, rows = first.ranking.candidates, first.ranking.rows
    assert len(first.lowered) == len(first.trees) == len(first.vectors) == len(rows)
    assert (first.features == candidates.features[rows]).all()
    assert (first.bounds == candidates.bounds[rows]).all()
    assert (first.estimates == candidates.estimates[rows]).all()
    assert set(first.seconds) >= {"lowered", "trees", "vectors", "features", "bounds"}


def test_each_model_is_judged_on_each_layer(layers: list[Programs]) -> None:
    found = list(judged(MODELS, layers))
    assert [layer for layer, _ in found] == layers
    for layer, row in found:
        assert len(row) == len(MODELS)
        assert len({one.accuracy.pairs for one in row}) == 1
        least = 1 / (layer.ranking.costs.max() / layer.ranking.costs.min())
        assert all(1 <= one.top <= 1 / least and one.reading > 0 for one in row)
    by_choices = [dict(zip(MODELS, row, strict=True)) for _, row in found]
    # What threads cost is learned from the other layers.
    assert all(
        row["trees, choices"].accuracy.right >= row["bound"].accuracy.right for row in by_choices
    )


def test_an_exact_model_is_right_throughout(layers: list[Programs]) -> None:
    exact = MODELS["bound"].__class__((), lambda of, others: lambda: -of.ranking.costs)
    found = Judged.of(exact, layers[0], layers[1:])
    assert (found.accuracy.right, found.top, found.reading) == (1.0, 1.0, 0.0)


def test_gains_name_what_costs_follow_from(layers: list[Programs]) -> None:
    found = gains(layers)
    assert sum(gain for _, gain in found) == pytest.approx(1)
    assert [gain for _, gain in found] == sorted((gain for _, gain in found), reverse=True)
    assert "threads size" in [name for name, _ in found[:5]]


@pytest.mark.skipif(find_spec("torch") is not None, reason="PyTorch is installed")
def test_the_network_needs_pytorch(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--tree"]) == 2
    assert "pip install 'tandem-workbench[treernn]'" in capsys.readouterr().err


@pytest.mark.exhaustive
def test_the_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layers = [word for layer in LAYERS for word in ("--layer", layer)]
    records = str(tmp_path / "records.jsonl")
    arguments = [*layers, "--config", "small8", "--choices", "10", "--jobs", "1"]
    assert main([*arguments, "--records", records]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("mean", "estimate", "reads, us"))
