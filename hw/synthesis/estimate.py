"""FPGA resources without synthesis, learned from the machines of `samples.jsonl`.

Multiplier blocks and block RAM follow from the machine's shape. Look-up tables and flip-flops are
sums of terms, fitted by least squares. UltraScale+ has no samples: its tables and blocks are those
of the 7 series, whose model is taken.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import parse_config
from tandem.hw.custom_gates import lane_gates
from tandem.hw.features import Feature
from tandem.hw.least_squares import fitted
from tandem.hw.synthesis.families import Family
from tandem.hw.synthesis.memory_blocks import block_ram, table_bits
from tandem.hw.widening import widening_of

_FITTED = ("lut", "ff")


@dataclass(frozen=True, slots=True)
class Sample:
    """A synthesised machine: its look-up tables, flip-flops, multiplier blocks and block RAM."""

    family: Family
    config: HardwareConfig
    lut: int
    ff: int
    dsp: int
    bram: int


class ResourceModel:
    """A model of the look-up tables and flip-flops of a family, fitted to samples."""

    def __init__(self, family: Family, samples: Sequence[Sample]) -> None:
        self.family = family
        mine = [sample for sample in samples if sample.family is family]
        terms = np.array([_terms(sample.config) for sample in mine])
        self._coefficients = {
            unit: fitted(terms, np.array([getattr(sample, unit) for sample in mine], np.float64))
            for unit in _FITTED
        }

    def resources(self, config: HardwareConfig) -> Mapping[str, int]:
        """The estimated `lut`, `ff`, `dsp` and `bram` of a machine."""
        terms = np.array(_terms(config))
        fitted = {unit: float(terms @ found) for unit, found in self._coefficients.items()}
        custom = lane_gates(config)
        fitted["lut"] += config.acc_lanes * custom.lut
        fitted["ff"] += config.acc_lanes * custom.ff
        return {
            **{unit: max(0, round(value)) for unit, value in fitted.items()},
            "dsp": multiplier_blocks(config),
            "bram": block_ram(config),
        }


def samples() -> tuple[Sample, ...]:
    """The samples that come with Tandem."""
    text = files("tandem.hw.synthesis").joinpath("samples.jsonl").read_text()
    return tuple(map(parse_sample, text.splitlines()))


@cache
def resource_model(family: Family) -> ResourceModel:
    """The model of the samples that come with Tandem."""
    return ResourceModel(modelled(family), samples())


def modelled(family: Family) -> Family:
    """The family whose samples a family's model learns from."""
    return Family.XC7 if family is Family.XCUP else family


def multiplier_blocks(config: HardwareConfig) -> int:
    """One for each MAC, three for the ALU's product in each lane, and one in `check`; with
    requantisers two more in each lane. Residuals are scaled by the ALU's. Those of custom
    operations are estimated."""
    in_a_lane = 5 if Feature.REQUANTISE in config.features else 3
    in_a_lane += lane_gates(config).dsp
    return config.macs + in_a_lane * config.acc_lanes + 1


def parse_sample(line: str) -> Sample:
    """The sample of a line of JSON."""
    record = json.loads(line)
    config = parse_config(json.dumps(record["config"]), "samples.jsonl")
    counts = (record[unit] for unit in ("lut", "ff", "dsp", "bram"))
    return Sample(Family(record["kind"]), config, *counts)


def _terms(config: HardwareConfig) -> tuple[float, ...]:
    """What look-up tables and flip-flops grow with."""
    lanes = config.acc_lanes
    requantises = float(Feature.REQUANTISE in config.features)
    input_operands = float(Feature.INPUT_OPERANDS in config.features)
    widens = float(Feature.COMPRESSED_WEIGHTS in config.features)
    return (
        1.0,
        lanes,
        config.macs,
        lanes * requantises,
        lanes * input_operands,
        requantises,
        config.bus_bits / 64,
        table_bits(config) / 64,
        config.block_in * (config.batch + config.block_out),
        widens * widening_of(config).wide_lanes,
    )
