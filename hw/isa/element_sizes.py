"""Bytes of the elements that LOADs and STOREs copy: for whole programs, and for compiled code."""

from __future__ import annotations

import numpy as np

from tandem.hw.codings import CODING_BITS, Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.instruction_fields import MEMORY_BITS
from tandem.hw.isa.columns import Columns, Ints


def element_size_table(config: HardwareConfig) -> Ints:
    """Bytes of an element in DRAM by the values of the fields memory_type and coding; 0 for a
    memory that the machine lacks."""
    sizes = np.zeros((1 << MEMORY_BITS, 1 << CODING_BITS), np.int64)
    for memory in config.memories:
        for coding in Coding:
            sizes[memory, coding] = config.element_bytes(memory, coding)
    return sizes


def dram_unit_table(config: HardwareConfig) -> Ints:
    """By the value of the field memory_type, the bytes that dram_base and x_stride count; 0 for a
    memory that the machine lacks."""
    units = np.zeros(1 << MEMORY_BITS, np.int64)
    for memory in config.memories:
        units[memory] = config.dram_unit(memory)
    return units


def dram_units(config: HardwareConfig, columns: Columns) -> Ints:
    """By instruction, the bytes that its dram_base and x_stride count."""
    units: Ints = dram_unit_table(config)[columns.memory_type]
    return units


def element_sizes(config: HardwareConfig, columns: Columns) -> Ints:
    """By instruction, the bytes of an element of its memory (of UOP where it names none)."""
    sizes: Ints = element_size_table(config)[columns.memory_type, columns.coding]
    return sizes
