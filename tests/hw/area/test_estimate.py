"""The area model, on machines that it has not seen."""

from __future__ import annotations

from statistics import median

import pytest

from hw.area.estimate import AreaModel, area_model, samples
from hw.config import HardwareConfig
from hw.config_files import load_config


def test_machines_that_were_left_out() -> None:
    """Each sample by the model of the others: gates and the whole area."""
    found = samples()
    gates, totals = [], []
    for at, sample in enumerate(found):
        model = AreaModel([*found[:at], *found[at + 1 :]])
        gates.append(abs(model.gates(sample.config) / sample.gates - 1))
        totals.append(abs(model.total(sample.config) / sample.total - 1))
    assert median(gates) < 0.005
    assert max(gates) < 0.05
    assert median(totals) < 0.002


def test_larger_machines_are_larger() -> None:
    config, model = HardwareConfig(), area_model()
    for change in (
        {"log_block_in": 5},
        {"log_block_out": 5},
        {"log_wgt_buffer": 18},
        {"acc_read_ports": 2},
        {"load_buffer": 512},
    ):
        small = config.replace(acc_read_ports=1, log_wgt_buffer=17)
        assert model.total(small.replace(**change)) > model.total(small)


@pytest.mark.parametrize("name", ["pynq", "pynq-x"])
def test_features_cost_gates(name: str) -> None:
    machine = load_config(name)
    known = next(each for each in samples() if each.config == machine)
    assert area_model().gates(machine) == pytest.approx(known.gates, rel=0.03)
