"""A lower bound of the exact cycles of choices, from launch to done.

Compute executes one micro-op per cycle at most, and the bus carries one beat per interval in each
direction. Around either, a first instruction and its operands have to come from DRAM, and a last
result has to be acknowledged. Templates that know the order of their instructions say more
(`AcceleratorTemplate.least_cycles`).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

import numpy as np

from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.templates.template import AcceleratorTemplate
from tandem.compiler.machines.accelerator.templates.work_counts import WorkCounts
from tandem.compiler.plan.space import Choices, Floats
from tandem.hw.encoding import INSTRUCTION_BYTES
from tandem.hw.topology import MemoryId

W = TypeVar("W", bound=Hashable)

_COUNTED = (MemoryId.INP, MemoryId.WGT, MemoryId.OUT)
"""Memories whose LOADs and STOREs are never fewer than counted."""


def lower_bound(
    template: AcceleratorTemplate[W], workload: W, choices: Choices, cost: MachineCost
) -> Floats:
    """Cycles that no program of these choices can go below, for choices that fit."""
    counted = counted_bound(template, workload, choices, cost)
    if not template.counts_are_exact(workload):
        return counted
    return np.maximum(counted, template.least_cycles(workload, choices, cost))


def counted_bound(
    template: AcceleratorTemplate[W], workload: W, choices: Choices, cost: MachineCost
) -> Floats:
    """The bound that follows from `work_counts` alone."""
    work = template.work_counts(workload, choices)
    latency = cost.memory.latency
    # An instruction, an operand and an acknowledgement each take a latency.
    compute = array_cycles(work, cost) + alu_cycles(work, cost) + 3 * latency
    if not template.counts_are_exact(workload):
        return compute
    return np.maximum(compute, bus_cycles(work, cost) + 2 * latency)


def array_cycles(work: WorkCounts, cost: MachineCost) -> Floats:
    """Cycles in which the array multiplies or resets."""
    return work.products + work.resets * (not cost.overwrites)


def alu_cycles(work: WorkCounts, cost: MachineCost) -> Floats:
    """Cycles in which the ALU executes micro-ops."""
    return work.immediate + work.inputs + cost.alu(work.tensor, tensor_operand=True)


def bus_cycles(work: WorkCounts, cost: MachineCost) -> Floats:
    """Cycles of the bus: reads, those of instructions too, and writes run in parallel."""
    # Half of all GEMM instructions may be resets, which machines that overwrite leave out.
    instructions = work.gemms / (2 if cost.overwrites else 1) + work.alus
    loaded, stored = np.zeros(()), np.zeros(())
    for copies in work.copies:
        size = copies.elements * cost.element_bytes(copies.memory)
        if copies.memory in _COUNTED:
            instructions = instructions + copies.instructions
        if copies.memory is MemoryId.OUT:
            stored = stored + size
        else:
            loaded = loaded + size
    loaded = loaded + INSTRUCTION_BYTES * instructions
    bytes_per_cycle = cost.config.bus_bytes / cost.memory.interval
    return np.asarray(np.maximum(loaded, stored) / bytes_per_cycle)
