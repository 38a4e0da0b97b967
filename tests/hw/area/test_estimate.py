"""The area model, on machines that it has not seen."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

from tandem.hw.area.estimate import AreaModel, rest_terms, samples
from tandem.hw.area.memory_bits import memory_bits
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config


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


def test_machines_of_spaces_that_it_never_saw() -> None:
    """A preset, and machines drawn from the spaces `small`, `fpga` and `asic` after the model was
    fitted.

    `python -m tandem.scripts.search.samples area` with the seeds 1901, 1902 and 1903.
    """
    found = samples(Path(__file__).with_name("held_out.jsonl"))
    model = AreaModel(samples())
    known = {sample.config.replace(name="_") for sample in samples()}
    errors = []
    for sample in found:
        assert sample.config.replace(name="_") not in known
        assert memory_bits(sample.config) == sample.memory_bits
        errors.append(abs(model.total(sample.config) / sample.total - 1))
    assert {sample.config.name for sample in found} == {"small", "fpga", "asic", "pynq-w"}
    assert median(errors) < 0.002
    assert max(errors) < 0.01


def test_what_gathers_a_row_of_results_is_a_term() -> None:
    """The bits of a row beyond a word of the bus; a row that fits the bus has none."""
    config = HardwareConfig(log_batch=0, log_block_out=4)
    assert config.acc_lanes == 16
    for bus, bits in ((64, 448.0), (256, 256.0), (512, 0.0)):
        terms = rest_terms(config.replace(bus_bits=bus))
        assert bits in terms
        assert min(terms) >= 0


def test_larger_machines_are_larger() -> None:
    config, model = HardwareConfig(), AreaModel(samples())
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
    assert AreaModel(samples()).gates(machine) == pytest.approx(known.gates, rel=0.03)
