"""The clock of a machine on an ECP5 without place and route, learned from `clocks.jsonl`.

The samples are routes of an LFE5U-85F of speed grade 6 by nextpnr, as `hw.synthesis.place` makes
them. The period is a sum of terms, none below 0, fitted by least squares of relative errors
(`hw.least_squares`). The samples are few: left out one by one, their clocks are predicted within
6 % in the median, and within 13 % at worst. A machine that the device cannot hold has a clock by
this model, too, of which no sample says anything.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import parse_config
from tandem.hw.least_squares import fitted
from tandem.hw.synthesis.estimate import resource_model
from tandem.hw.synthesis.families import Family

_NANOSECONDS = 1e3
"""A period in nanoseconds times its clock in MHz."""


@dataclass(frozen=True, slots=True)
class ClockSample:
    """A machine that was placed and routed, and the highest clock that its registers allow."""

    config: HardwareConfig
    mhz: float


class ClockModel:
    """A model of the period of machines, fitted to samples."""

    def __init__(self, samples: Sequence[ClockSample]) -> None:
        terms = np.array([_terms(sample.config) for sample in samples])
        periods = np.array([_NANOSECONDS / sample.mhz for sample in samples])
        self._coefficients = fitted(terms, periods)

    def mhz(self, config: HardwareConfig) -> float:
        """The estimated clock of a machine on an LFE5U-85F of speed grade 6."""
        return _NANOSECONDS / float(np.array(_terms(config)) @ self._coefficients)


def samples() -> tuple[ClockSample, ...]:
    """The samples that come with Tandem."""
    text = files("tandem.hw.synthesis").joinpath("clocks.jsonl").read_text()
    return tuple(map(parse_sample, text.splitlines()))


def parse_sample(line: str) -> ClockSample:
    """The sample of a line of JSON."""
    record = json.loads(line)
    return ClockSample(parse_config(json.dumps(record["config"]), "clocks.jsonl"), record["mhz"])


def _terms(config: HardwareConfig) -> tuple[float, ...]:
    """What the longest path grows with: wires, which are longer on a larger machine, and the
    registers of a bus's word that one signal drives."""
    tables = resource_model(Family.ECP5).resources(config)["lut"]
    return 1.0, float(np.sqrt(tables)) / 100, float(np.log2(config.bus_bits / 32))
