"""What a system on chip is made of, as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

LEAST_LATENCY: Final = 5
"""Cycles from an address to its data, of memory on chip: one in a queue of addresses, one in a
register that all blocks of the memory read, one in the memory, one in a queue of data, and one in a
register."""
_SIMULATED_BYTES: Final = 1 << 20
"""Of a memory that is simulated, at least."""


class SocDescription(msgspec.Struct, frozen=True):
    """A system on chip.

    Attributes
    ----------
    accelerator
        The folder that has the accelerator's Verilog.
    processor, variant
        LiteX's names.
    bus_bits
        The width of the accelerator's bus, and of the memory.
    latency, in_flight
        Of the memory, see `SharedMemory`.
    rom_bytes, ram_bytes, memory_bytes
        The firmware; its variables; the memory that the accelerator sees.
    frequency
        Cycles a second.
    is_simulated
        Whether the console is bytes with a handshake, which a simulation shows; otherwise it is a
        serial line.
    """

    accelerator: str
    processor: str
    variant: str
    bus_bits: int
    latency: int
    in_flight: int
    rom_bytes: int
    ram_bytes: int
    memory_bytes: int
    frequency: int
    is_simulated: bool = True

    def simulated(self) -> SocDescription:
        """The system that is simulated for this one: its memories are larger, in few sizes, so
        that networks share a simulator."""

        def larger(size: int) -> int:
            return max(_SIMULATED_BYTES, 1 << (size - 1).bit_length())

        return msgspec.structs.replace(
            self,
            rom_bytes=larger(self.rom_bytes),
            ram_bytes=larger(self.ram_bytes),
            memory_bytes=larger(self.memory_bytes),
            is_simulated=True,
        )

    @classmethod
    def read(cls, path: Path) -> SocDescription:
        """A description that `write` wrote."""
        return msgspec.json.decode(path.read_bytes(), type=cls)

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        path.write_bytes(msgspec.json.encode(self))
