"""Errors of the simulators, all rooted in `SimulationError`.

A faulty program is a `hw.errors.ProgramError` in every engine (a deadlock included); the errors of
this module concern the run.
"""

from __future__ import annotations

from tandem.base.errors import Error


class SimulationError(Error):
    """Root of every error that the `sim` package raises on purpose."""


class EngineError(SimulationError):
    """An engine that does not exist, or an option that the engine does not have."""


class NeedsDataError(EngineError):
    """A run without data (`Launch.data`) of a program whose faults depend on data."""


class MemoryImageError(SimulationError):
    """A memory image or a placement of the program that cannot be used."""


class BuildError(SimulationError):
    """The RTL simulator could not be built: Verilator or a C++ compiler is missing or failed."""


class CycleLimitError(SimulationError):
    """The run had not ended after `max_cycles`."""

    def __init__(self, max_cycles: int, message: str) -> None:
        super().__init__(message)
        self.max_cycles = max_cycles


class BusError(SimulationError):
    """Memory answered an access with an error.

    Attributes: `instruction` is the index of the LOAD or STORE, or None for a fetch; `write` is
    True for a write.
    """

    def __init__(self, instruction: int | None, *, write: bool, message: str) -> None:
        super().__init__(message)
        self.instruction = instruction
        self.write = write


class BusTimeoutError(SimulationError):
    """Memory did not answer within `Launch.bus_timeout` cycles.

    Attributes: `instruction` is the index of the LOAD or STORE, or None for a fetch; `address` is
    that of the oldest burst that was outstanding.
    """

    def __init__(self, instruction: int | None, address: int, message: str) -> None:
        super().__init__(message)
        self.instruction = instruction
        self.address = address


class EnginesDifferError(SimulationError):
    """A program on which two compared engines end with different errors."""
