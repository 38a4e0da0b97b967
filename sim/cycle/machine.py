"""A configuration and a memory model as numbers for compiled code."""

from __future__ import annotations

from typing import NamedTuple

from tandem.hw.bases import address_mask
from tandem.hw.codings import Coding
from tandem.hw.config import PAGE_BYTES, HardwareConfig
from tandem.hw.encoding import INSTRUCTION_BYTES
from tandem.hw.memory_model import MemoryModel
from tandem.hw.storage import queue_of, storage_of
from tandem.hw.timing import (
    FETCH_BURST,
    custom_lead,
    forward_distance,
    out_delay,
    pipeline_depth,
)
from tandem.hw.topology import Unit
from tandem.hw.widening import widening_of


class Machine(NamedTuple):
    """The numbers on which time depends, in beats, cycles and instructions; sizes are powers of
    two, and bursts are as in rule 1."""

    beat_shift: int
    """log2 of the bytes in a beat."""
    page_beats: int
    longest: int
    """Beats of the longest burst of a LOAD or STORE."""
    address_mask: int

    fetch_longest: int
    fetch_depth: int
    """Beats that fetch's buffer holds; the next fields: those of load and of compute."""
    load_depth: int
    compute_depth: int
    reads_in_flight: int
    writes_in_flight: int
    queue_depth: int
    """Instructions that a unit's queue holds."""

    slow_steps: int
    """Cycles of a beat of codes of 1 bit."""

    depth: int
    """Cycles from a micro-op's issue to its write."""
    near: int
    """Micro-ops whose results a micro-op may have to wait for: those right ahead of it."""
    custom_lead: int
    """Empty cycles before the first micro-op of a custom operation."""
    custom: int
    """The opcodes of custom operations: bit n is set for opcode n."""
    two_reads: int
    """Issue cycles of a micro-op with two operands from ACC."""
    out_delay: int
    """Cycles from the last write of ACC to the end of an instruction of compute."""

    latency: int
    interval: int
    in_flight: int


def make_machine(config: HardwareConfig, memory: MemoryModel) -> Machine:
    """The numbers of a configuration behind a memory."""
    storage = storage_of(config)
    ahead = max(1, FETCH_BURST * INSTRUCTION_BYTES // config.bus_bytes)
    return Machine(
        beat_shift=config.bus_bytes.bit_length() - 1,
        page_beats=PAGE_BYTES // config.bus_bytes,
        longest=config.longest_burst,
        address_mask=address_mask(config),
        fetch_longest=min(ahead, config.longest_burst),
        fetch_depth=storage["fetch_buffer"].depth,
        load_depth=storage["load_buffer"].depth,
        compute_depth=storage["compute_buffer"].depth,
        reads_in_flight=config.reads_in_flight,
        writes_in_flight=config.writes_in_flight,
        queue_depth=storage[queue_of(Unit.LOAD)].depth,
        slow_steps=widening_of(config).steps(Coding.BITS_1),
        depth=pipeline_depth(config),
        near=forward_distance(config, custom=bool(config.alu_operations)) - 1,
        custom_lead=custom_lead(config),
        custom=sum(1 << number for number in config.custom_operations),
        two_reads=2 if config.acc_read_ports == 1 else 1,
        out_delay=out_delay(config),
        latency=memory.latency,
        interval=memory.interval,
        in_flight=memory.in_flight,
    )
