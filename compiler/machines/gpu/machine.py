"""What the compiler knows of a GPU, as a value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GpuMachine:
    """The limits of a GPU.

    Attributes
    ----------
    name
        Of the interface: the name that steps have for the device.
    threads
        The most threads of a block.
    shared_bytes
        The most bytes of a block's shared memory.
    """

    name: str = "opencl"
    threads: int = 256
    shared_bytes: int = 32 * 1024
