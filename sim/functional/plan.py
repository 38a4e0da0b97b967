"""A program prepared for compiled code, as tables with a row for each instruction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tandem.hw.config import HardwareConfig
from tandem.hw.faults import Fault
from tandem.hw.isa import Columns, TokenQueue, Unit
from tandem.hw.isa.columns import ProgramTable, make_table, units_of
from tandem.hw.isa.rules import broken_rules, rule_inputs
from tandem.hw.topology import POPS, PUSHES, TOKEN_FLAGS

NOWHERE = len(TokenQueue)
"""Index of a dummy token queue, never empty or full, for token flags that are not set."""

Ints = npt.NDArray[np.int64]


class Plan(NamedTuple):
    """The tables of a program, which do not change while it runs."""

    table: ProgramTable
    units: Ints
    """The unit of each instruction; -1 for an illegal opcode."""
    faults: Ints
    """The static rule that each instruction breaks, or 0; dispatch refuses such instructions."""
    queues: Ints
    """For each instruction the two token queues that it pops and the two that it pushes."""
    stream: Ints
    """Indices of the instructions of load, then of compute, then of store."""
    first: Ints
    """Index in `stream` of each unit's first instruction."""
    queue_depth: int


def make_plan(config: HardwareConfig, columns: Columns) -> Plan:
    """The plan of a program, legal or not."""
    units = units_of(columns).astype(np.int64)
    counts = [int(np.count_nonzero(units == unit)) for unit in Unit]
    return Plan(
        table=make_table(columns),
        units=units,
        faults=_static_faults(config, columns),
        queues=_queues(columns, units),
        stream=np.concatenate([np.flatnonzero(units == unit) for unit in Unit]),
        first=np.cumsum([0, *counts[:-1]], dtype=np.int64),
        queue_depth=config.instruction_queue,
    )


def _static_faults(config: HardwareConfig, columns: Columns) -> Ints:
    faults = np.zeros(len(columns.opcode), dtype=np.int64)
    for fault, broken in broken_rules(rule_inputs(config, columns)).items():
        # SRAM_INDEX is reported at run time, with the micro-op at fault.
        if fault is not Fault.SRAM_INDEX:
            faults[broken & (faults == 0)] = fault
    return faults


def _queues(columns: Columns, units: Ints) -> Ints:
    flags = [getattr(columns, flag) for flag in TOKEN_FLAGS]
    queues = np.full((len(units), len(flags)), NOWHERE, dtype=np.int64)
    for unit in Unit:
        for column, queue in enumerate(POPS[unit] + PUSHES[unit]):
            if queue is not None:
                queues[(units == unit) & (flags[column] != 0), column] = queue
    return queues
