"""What a configuration may be: every limit of `HardwareConfig`, each with its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hw.encoding import word_layouts
from hw.errors import ConfigError
from hw.topology import MemoryId

if TYPE_CHECKING:
    from hw.config import HardwareConfig

__all__ = ["check_config"]

_RANGES = {
    "log_batch": (0, 4),
    "log_block_in": (0, 7),
    "log_block_out": (0, 7),
    "log_uop_buffer": (3, 24),
    "log_inp_buffer": (1, 30),
    "log_wgt_buffer": (1, 30),
    "log_acc_buffer": (3, 30),
    "acc_read_ports": (1, 2),
    "address_bits": (16, 64),
    "longest_burst": (1, 256),
    "reads_in_flight": (2, 256),
    "writes_in_flight": (2, 256),
    "axi_cache": (0, 15),
    "axi_prot": (0, 7),
    "instruction_queue": (2, 4096),
    "fetch_buffer": (8, 4096),
    "load_buffer": (2, 1 << 16),
    "compute_buffer": (2, 1 << 16),
}
_BUS_BITS = (64, 128, 256, 512)
_POWERS_OF_TWO = ("instruction_queue", "fetch_buffer", "load_buffer", "compute_buffer")


def check_config(config: HardwareConfig) -> None:
    """Raise `ConfigError` unless `config` describes a machine that can be built."""
    for name, (low, high) in _RANGES.items():
        value = getattr(config, name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ConfigError(f"{name} is {value!r}: it must be a whole number")
        if not low <= value <= high:
            raise ConfigError(f"{name} is {value}: it must lie in {low}..{high}")
    if config.bus_bits not in _BUS_BITS:
        raise ConfigError(f"bus_bits is {config.bus_bits}: it must be one of {_BUS_BITS}")
    for name in _POWERS_OF_TWO:
        value = getattr(config, name)
        if value & (value - 1):
            raise ConfigError(f"{name} is {value}: it must be a power of two")
    _check_memories(config)
    _check_ports(config)
    _check_buffers(config)
    _check_encodings(config)


def _check_memories(config: HardwareConfig) -> None:
    for memory in (MemoryId.UOP, MemoryId.WGT, MemoryId.INP, MemoryId.ACC):
        bits = config.index_bits(memory)
        size = 1 << getattr(config, f"log_{memory.name.lower()}_buffer")
        element = config.element_bytes(memory)
        if bits < 1:
            raise ConfigError(
                f"log_{memory.name.lower()}_buffer: {size} bytes hold fewer than two elements "
                f"of {element} bytes"
            )
        if bits > 16:
            raise ConfigError(
                f"log_{memory.name.lower()}_buffer: {1 << bits} elements of {element} bytes; the "
                f"sram_base field reaches 65536"
            )


def _check_ports(config: HardwareConfig) -> None:
    if config.acc_read_ports == 1 and config.log_block_in == 0:
        raise ConfigError(
            "acc_read_ports is 1 and log_block_in 0: without an adder tree the pipeline is a "
            "stage too short to read two operands in turn; log_block_in must be 1 or more"
        )


def _check_buffers(config: HardwareConfig) -> None:
    for name in ("load_buffer", "compute_buffer"):
        if getattr(config, name) < config.longest_burst:
            raise ConfigError(
                f"{name} is {getattr(config, name)} beats: a burst of {config.longest_burst} "
                f"(longest_burst) is only asked for with space for all of it"
            )


def _check_encodings(config: HardwareConfig) -> None:
    for layout in word_layouts(config):
        if layout.width > layout.size:
            raise ConfigError(
                f"the {layout.name} word needs {layout.width} bits for these memory depths; "
                f"it has {layout.size}"
            )
