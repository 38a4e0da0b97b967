"""The machine's times and priorities: what the RTL is built with and what estimates rely on.

ARCHITECTURE.md, "Timing rules", says how the cycles of a run follow from these numbers, from the
configuration (depths of queues and buffers, lengths of bursts) and from the memory model.
"""

from __future__ import annotations

from hw.config import HardwareConfig

__all__ = [
    "BEAT_TO_USE",
    "BURST_TO_ADDRESS",
    "DEADLOCK_CYCLES",
    "FETCH_BURST",
    "MAC_RADIX",
    "READ_PRIORITY",
    "START_TO_BURST",
    "TRANSFER_OVERHEAD",
    "issue_cycles",
    "pipeline_depth",
    "tree_levels",
]

MAC_RADIX = 4
"""Terms added in one stage of the adder tree."""

FETCH_BURST = 8
"""Instructions requested in one burst, if the longest burst holds as many."""

READ_PRIORITY = ("fetch", "compute", "load")
"""The clients of the read master, highest priority first: an empty queue stops everything behind
it, a load may come a little later."""

DEADLOCK_CYCLES = 4
"""Cycles in which nothing is under way and nothing can start, after which nothing ever will."""

START_TO_BURST = 2
"""Cycles from the start of a LOAD or STORE to the offer of its first burst (rules 1, 5, 7)."""
BURST_TO_ADDRESS = 1
"""Cycles from an offered burst being taken to its ARVALID or AWVALID (rules 2, 7)."""
BEAT_TO_USE = 1
"""Cycles from the arrival of a beat to its first use; from AWVALID to the first beat of write data
(rules 2, 7)."""
TRANSFER_OVERHEAD = START_TO_BURST + BURST_TO_ADDRESS + BEAT_TO_USE
"""Cycles of a LOAD or STORE alone on the bus, beside the memory's latency and its data."""


def tree_levels(block_in: int) -> int:
    """Stages of the adder tree behind the products."""
    levels = 0
    while block_in > 1:
        block_in = -(-block_in // MAC_RADIX)
        levels += 1
    return levels


def pipeline_depth(config: HardwareConfig) -> int:
    """Cycles from a micro-op's issue to the one in which its result is written."""
    return 5 + tree_levels(config.block_in)


def issue_cycles(config: HardwareConfig, *, two_reads: bool) -> int:
    """Cycles that the issue of one micro-op takes; `two_reads`: it reads two operands from ACC."""
    return 2 if two_reads and config.acc_read_ports == 1 else 1
