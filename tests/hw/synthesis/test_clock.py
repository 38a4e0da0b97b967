"""The clock model, on machines that it has not seen."""

from __future__ import annotations

from statistics import median

from tandem.hw.config_files import load_config
from tandem.hw.synthesis.clock import ClockModel, samples


def test_machines_that_were_left_out() -> None:
    """Each sample by the model of the others."""
    found = samples()
    errors = [
        abs(ClockModel([*found[:at], *found[at + 1 :]]).mhz(sample.config) / sample.mhz - 1)
        for at, sample in enumerate(found)
    ]
    assert len(errors) >= 6
    assert median(errors) < 0.06
    assert max(errors) < 0.13


def test_a_model_of_other_samples_says_otherwise() -> None:
    """The figures come from the samples: with half of their clocks the model says half."""
    machine = load_config("small8")
    slow = [type(sample)(sample.config, sample.mhz / 2) for sample in samples()]
    assert abs(2 * ClockModel(slow).mhz(machine) / ClockModel(samples()).mhz(machine) - 1) < 1e-6


def test_larger_machines_are_slower() -> None:
    model = ClockModel(samples())
    assert model.mhz(load_config("tiny")) > model.mhz(load_config("small8"))
