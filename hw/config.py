"""The hardware configuration: one frozen value that every part of Tandem is built from.

Sizes of arrays and memories are powers of two and are kept as their logarithms, as VTA keeps
them, because the encodings derive from them. Everything else is in the unit its name says.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any

from hw.checks import check_config
from hw.encoding import UOP_BYTES
from hw.errors import ConfigError
from hw.topology import MemoryId

__all__ = ["Feature", "HardwareConfig"]

ACC_BYTES = 4
PAGE_BYTES = 4096
"""No AXI4 burst crosses a boundary of this many bytes (AMBA AXI4, A3.4.1)."""


class Feature(Enum):
    """Extensions of the instruction set. None exists yet; each will be off in VTA's presets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareConfig:
    """An accelerator, fully described. Impossible values are refused on construction.

    Raises
    ------
    ConfigError
        Names the field, the value asked for, and what is allowed.
    """

    name: str = "pynq"

    log_batch: int = 0
    log_block_in: int = 4
    log_block_out: int = 4
    log_uop_buffer: int = 15
    """log2 of the micro-op memory's bytes; likewise the three that follow."""
    log_inp_buffer: int = 15
    log_wgt_buffer: int = 18
    log_acc_buffer: int = 17

    acc_read_ports: int = 2
    """Reads of ACC in a cycle. 2: ACC is kept twice, in twice the block RAM. 1: a micro-op with
    two operands from ACC (ALU without immediate) takes two cycles."""

    bus_bits: int = 64
    """Width of the AXI4 data bus."""
    address_bits: int = 32
    """Width of AXI4 addresses."""
    longest_burst: int = 64
    """Beats in the longest burst asked for."""
    reads_in_flight: int = 64
    """Read bursts that may be unanswered at a time; likewise for writes."""
    writes_in_flight: int = 64
    axi_cache: int = 0b0011
    """AxCACHE of every access (default: normal, non-cacheable, bufferable)."""
    axi_prot: int = 0b000

    instruction_queue: int = 32
    """Instructions that wait in front of each module."""
    fetch_buffer: int = 128
    """Instructions that wait in front of dispatch."""
    load_buffer: int = 256
    """Beats of read data that may be under way for, or wait in front of, the load module."""
    compute_buffer: int = 256
    """The same for the compute module's loads."""

    features: frozenset[Feature] = frozenset()

    def __post_init__(self) -> None:
        check_config(self)

    # The array --------------------------------------------------------------------------

    @property
    def batch(self) -> int:
        """Rows of the GEMM array's input."""
        return 1 << self.log_batch

    @property
    def block_in(self) -> int:
        """Input channels that one micro-op reduces."""
        return 1 << self.log_block_in

    @property
    def block_out(self) -> int:
        """Output channels that one micro-op produces."""
        return 1 << self.log_block_out

    @property
    def macs(self) -> int:
        """Multiply-accumulates in a cycle."""
        return self.batch * self.block_in * self.block_out

    @property
    def acc_lanes(self) -> int:
        """32-bit values in one accumulator element."""
        return self.batch * self.block_out

    # The memories -----------------------------------------------------------------------

    def element_bytes(self, memory: MemoryId) -> int:
        """Bytes of one element of `memory`, as it lies in DRAM."""
        match memory:
            case MemoryId.UOP:
                return UOP_BYTES
            case MemoryId.WGT:
                return self.block_out * self.block_in
            case MemoryId.INP:
                return self.batch * self.block_in
            case MemoryId.ACC:
                return self.acc_lanes * ACC_BYTES
            case MemoryId.OUT | MemoryId.ACC_8BIT:
                return self.acc_lanes

    def index_bits(self, memory: MemoryId) -> int:
        """log2 of the number of elements of `memory`."""
        match memory:
            case MemoryId.UOP:
                return self.log_uop_buffer - 2
            case MemoryId.WGT:
                return self.log_wgt_buffer - self.log_block_in - self.log_block_out
            case MemoryId.INP:
                return self.log_inp_buffer - self.log_batch - self.log_block_in
            case MemoryId.ACC | MemoryId.OUT | MemoryId.ACC_8BIT:
                return self.log_acc_buffer - self.log_batch - self.log_block_out - 2

    def depth(self, memory: MemoryId) -> int:
        """Number of elements of `memory`."""
        return 1 << self.index_bits(memory)

    # The bus ----------------------------------------------------------------------------

    @property
    def bus_bytes(self) -> int:
        """Bytes in one beat."""
        return self.bus_bits // 8

    # Making others ----------------------------------------------------------------------

    def replace(self, **changes: Any) -> HardwareConfig:
        """This configuration with some fields changed (and checked again)."""
        unknown = changes.keys() - {field.name for field in fields(self)}
        if unknown:
            raise ConfigError(f"configuration has no field {', '.join(sorted(unknown))}")
        return replace(self, **changes)
