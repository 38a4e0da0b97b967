"""Area without synthesis, learned from the machines of `samples.jsonl`, which were synthesised.

Most gates are in lanes and requantisers, of which there are few kinds: their areas are those of
synthesis. What is around them, and kinds that no sample has, is a sum of terms, fitted by least
squares. Bits of memory are a formula.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

import numpy as np

from tandem.hw.area.gates import MEMORY_BIT
from tandem.hw.area.memory_bits import memory_bits
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import parse_config
from tandem.hw.custom_gates import lane_gates
from tandem.hw.features import Feature
from tandem.hw.least_squares import fitted
from tandem.hw.storage import queue_of, storage_of
from tandem.hw.topology import MemoryId, Unit
from tandem.hw.widening import widening_of


@dataclass(frozen=True, slots=True)
class Sample:
    """A synthesised machine.

    Attributes
    ----------
    lane, requantiser
        Gates of one lane and of one requantiser, in NAND2; 0 for a machine without requantisers.
    rest
        All other gates.
    """

    config: HardwareConfig
    lane: float
    requantiser: float
    rest: float
    memory_bits: int

    @property
    def gates(self) -> float:
        """All gates, in NAND2."""
        lanes = self.config.acc_lanes
        return lanes * (self.lane + self.requantiser) + self.rest

    @property
    def total(self) -> float:
        """The area, in NAND2."""
        return self.gates + MEMORY_BIT * self.memory_bits


class AreaModel:
    """A model of the gates of machines, fitted to samples."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._lanes = {_lane_kind(each.config): each.lane for each in samples}
        self._requantisers = {
            _requantiser_kind(sample.config): sample.requantiser
            for sample in samples
            if sample.requantiser
        }
        kinds = list(self._lanes)
        self._lane_terms = fitted(
            np.array([_lane_terms(*kind) for kind in kinds]), np.array([*self._lanes.values()])
        )
        self._rest_terms = fitted(
            np.array([rest_terms(each.config) for each in samples]),
            np.array([each.rest for each in samples]),
        )

    def gates(self, config: HardwareConfig) -> float:
        """The gates of a machine, in NAND2."""
        kind = _lane_kind(config)
        lane = self._lanes.get(kind)
        if lane is None:
            lane = float(np.array(_lane_terms(*kind)) @ self._lane_terms)
        requantiser = 0.0
        if Feature.REQUANTISE in config.features:
            wanted = _requantiser_kind(config)
            known = self._requantisers
            requantiser = known.get(wanted, max(known.values(), default=0.0))
        rest = float(np.array(rest_terms(config)) @ self._rest_terms)
        return config.acc_lanes * (lane + lane_gates(config).nand2 + requantiser) + rest

    def total(self, config: HardwareConfig) -> float:
        """The area of a machine, in NAND2, memories included."""
        return self.gates(config) + MEMORY_BIT * memory_bits(config)


def samples(path: Traversable | None = None) -> tuple[Sample, ...]:
    """The samples of a file, whose lines are JSON; by default those that come with Tandem."""
    text = (path or files("tandem.hw.area").joinpath("samples.jsonl")).read_text()
    return tuple(map(parse_sample, text.splitlines()))


def parse_sample(line: str) -> Sample:
    """The sample of a line of JSON."""
    record = json.loads(line)
    config = parse_config(json.dumps(record["config"]), "samples.jsonl")
    values = (record[name] for name in ("lane", "requantiser", "rest", "memory_bits"))
    return Sample(config, *values)


def _lane_kind(config: HardwareConfig) -> tuple[int, int]:
    return config.block_in, config.acc_read_ports


def _lane_terms(block_in: int, ports: int) -> tuple[float, ...]:
    return 1.0, block_in, float(ports == 1)


def _requantiser_kind(config: HardwareConfig) -> bool:
    """Whether a requantiser adds residuals."""
    return Feature.INPUT_OPERANDS in config.features


def rest_terms(config: HardwareConfig) -> tuple[float, ...]:
    """What the gates around the lanes grow with."""
    lanes, bus = config.acc_lanes, config.bus_bits
    requantises = float(Feature.REQUANTISE in config.features)
    input_operands = float(Feature.INPUT_OPERANDS in config.features)
    one_port = float(config.acc_read_ports == 1)
    element_bits = 8 * config.block_in * (config.batch + config.block_out)
    indices = [config.index_bits(memory) for memory in (MemoryId.UOP, MemoryId.INP)]
    indices += [config.index_bits(memory) for memory in (MemoryId.WGT, MemoryId.ACC)]
    banks = (8 * config.block_in * config.block_out) / bus + 32 * lanes / bus
    storage = storage_of(config)
    names = (queue_of(Unit.LOAD), "load_buffer", "compute_buffer", "fetch_buffer")
    queues = [storage[name].depth for name in names]
    depths = [float(np.log2(depth)) for depth in queues]
    widens = float(Feature.COMPRESSED_WEIGHTS in config.features)
    shallow = sum(64.0 for depth in queues if depth <= 64)
    return (
        1.0,
        lanes,
        element_bits,
        lanes * requantises,
        lanes * input_operands,
        lanes * one_port,
        requantises,
        input_operands,
        one_port,
        bus,
        banks,
        max(0.0, 32 * lanes - bus),
        *map(float, indices),
        sum(depths),
        shallow,
        float(np.log2(config.reads_in_flight)),
        float(np.log2(config.writes_in_flight)),
        float(np.log2(config.longest_burst)),
        widens,
        widens * widening_of(config).wide_lanes,
    )
