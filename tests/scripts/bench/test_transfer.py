"""The benchmark of transfer: gains by trials, and its table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tandem.scripts.bench.cost_models import main as measure_sample
from tandem.scripts.bench.transfer import LAYERS, Curves, gains, main, trials_to
from tandem.workbench.utilization.conv_layers import parse_layer


def curves(count: int, alone: list[float], taught: list[float], best: float) -> Curves:
    return Curves(count, np.array(alone), np.array(taught), best)


def test_gains_weigh_layers_by_their_number() -> None:
    found = [
        curves(3, [100.0, 90.0, 80.0], [100.0, 80.0, 80.0], 80.0),
        curves(1, [50.0, 50.0, 30.0], [50.0, 40.0, 30.0], 10.0),
    ]
    # 3 x 20 + 40 can be saved.
    assert gains(found, taught=False).tolist() == [0.0, 0.3, 0.8]
    assert gains(found, taught=True).tolist() == [0.0, 0.7, 0.8]


def test_trials_to_a_gain() -> None:
    gain = np.array([0.0, 0.5, 0.94, 0.95, 1.0])
    assert trials_to(gain, 0.95) == 3
    assert trials_to(gain, 0.0) == 0
    assert trials_to(gain[:3], 0.95) is None


def test_the_layers_are_convolutions() -> None:
    layers = [parse_layer(f"{layer}={layer}") for layer in LAYERS]
    assert len({layer.name for layer in layers}) == len(LAYERS) == 18
    assert sum(LAYERS.values()) == 39


@pytest.mark.exhaustive
def test_a_second_run_measures_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taught, records = tmp_path / "taught.jsonl", tmp_path / "records.jsonl"
    machine = ["--config", "small8", "--jobs", "1"]
    layers = ["--layer", "a=4,4,8,8,1,1,0", "--layer", "b=2,4,8,16,1,1,0"]
    measure_sample([*machine, *layers, "--choices", "12", "--records", str(taught)])
    capsys.readouterr()
    both = ["--taught", str(taught), "--records", str(records)]
    arguments = [*machine, *both, "--layer", "4,4,16,8,1,1,0", "--trials", "8", "--seeds", "2"]
    assert main(arguments) == 0
    first, before = capsys.readouterr().out, records.read_bytes()
    assert main(arguments) == 0
    assert capsys.readouterr().out == first
    assert records.read_bytes() == before
    assert [line.split()[0] for line in first.splitlines()[-2:]] == ["from", "with"]
