"""Latencies and priorities of the machine, for the RTL and for cycle estimates.

docs/timing.md says how the cycles of a run follow from these numbers, from the
configuration (depths of queues and buffers, lengths of bursts) and from the memory model.
"""

from __future__ import annotations

from typing import NamedTuple

from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature
from tandem.hw.operations import AluOp

MAC_RADIX = 4
"""Inputs of an adder in the adder tree."""

FETCH_BURST = 8
"""Instructions that fetch requests in one burst, if `longest_burst` allows."""

READ_PRIORITY = ("fetch", "compute", "load")
"""The clients of the read master, highest priority first: an empty instruction queue
stalls its unit; a LOAD can wait a little."""

CHECK_STAGES = 4
"""Stages between fetch and the instruction queues, one cycle each (rule 3)."""

OUT_QUEUE_BEATS = 4
"""Complete beats of write data that are buffered between OUT, whose latency is fixed, and the bus,
which may stall (rule 7)."""

DEADLOCK_CYCLES = 4
"""Consecutive cycles with no unit busy or able to start, after which a deadlock is reported."""

START_TO_BURST = 2
"""Cycles from the start of a LOAD or STORE to its first burst request (rules 1, 5, 7)."""
BURST_TO_ADDRESS = 1
"""Cycles from an accepted burst request to its ARVALID or AWVALID (rules 2, 7)."""
BEAT_TO_USE = 1
"""Cycles from the arrival of a beat to its first use; from AWVALID to the first beat of write data
(rules 2, 7)."""
TRANSFER_OVERHEAD = START_TO_BURST + BURST_TO_ADDRESS + BEAT_TO_USE
"""Cycles of a LOAD or STORE alone on the bus, not counting DRAM latency and data beats."""


EARLY_OPS = (AluOp.MUL, AluOp.SHR)
"""ALU operations that begin a stage before execution (rule 6)."""

FORWARD_DISTANCE = 3
"""Slots from a micro-op to the first that can use its result as the operand of an early operation,
or as the second operand of any (rule 6)."""

INDEX_STAGE = 2
"""The stage of the pipeline in which a micro-op's indices are checked."""

STALL_STAGE = 3
"""The stage of the pipeline in which a micro-op waits for a result."""


OUT_STAGES = 4
"""Stages of requantisation between a write of ACC and the write of OUT: products, their sum with
addend and residual, shift, clip."""


def tree_levels(block_in: int) -> int:
    """Number of stages of the adder tree after the multipliers; at least two, as ACC is read and
    the ALU begins in these stages."""
    levels = 0
    while block_in > 1:
        block_in = -(-block_in // MAC_RADIX)
        levels += 1
    return max(levels, 2)


def custom_lead(config: HardwareConfig) -> int:
    """Slots by which a custom operation begins ahead of others: it takes its operands that many
    stages earlier, and its instruction leaves as many slots empty before its first micro-op."""
    return config.alu_stages - 1


def forward_distance(config: HardwareConfig, *, custom: bool) -> int:
    """Slots from a micro-op to the first that can use its result where results are not forwarded:
    as an operand of a custom operation, or else as `FORWARD_DISTANCE` says."""
    return FORWARD_DISTANCE + (custom_lead(config) if custom else 0)


class PipelineStages(NamedTuple):
    """Stages of the pipeline, counted from a micro-op's issue (rule 6).

    What a custom operation does up to `gather` it does `custom_lead` stages earlier.
    """

    indices: int
    """Indices are checked."""
    inputs: int
    """INP and WGT are read."""
    elements: int
    """Elements of INP and WGT are registered."""
    products: int
    """Elements are multiplied. The stages of the adder tree follow."""
    read: int
    """ACC is read."""
    gather: int
    """Operands are gathered."""
    prepare: int
    """MUL and SHR begin; a dot product becomes the second operand."""
    execute: int
    """The result is computed."""
    write: int
    """ACC is written."""


def pipeline_stages(config: HardwareConfig) -> PipelineStages:
    """The stages of a machine's pipeline. From `read` on they follow each other."""
    inputs = INDEX_STAGE + custom_lead(config)
    products = inputs + 2
    write = products + tree_levels(config.block_in) + 2
    return PipelineStages(INDEX_STAGE, inputs, inputs + 1, products, *range(write - 4, write + 1))


def pipeline_depth(config: HardwareConfig) -> int:
    """Cycles from the issue of a micro-op to the write of its result."""
    return pipeline_stages(config).write


def out_delay(config: HardwareConfig) -> int:
    """Cycles from a write of ACC to the write of OUT, and from the last write of ACC to the end of
    an instruction of compute (rules 5 and 6)."""
    return OUT_STAGES if Feature.REQUANTISE in config.features else 0


def issue_cycles(config: HardwareConfig, *, two_reads: bool) -> int:
    """Issue cycles of one micro-op; `two_reads`: whether it reads two operands from ACC."""
    return 2 if two_reads and config.acc_read_ports == 1 else 1
