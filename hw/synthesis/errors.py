"""The errors that `hw.synthesis` raises."""

from __future__ import annotations

from tandem.hw.errors import HardwareError


class SynthesisError(HardwareError):
    """A design that Yosys could not synthesise, or a result of Yosys that cannot be interpreted."""


class DoesNotFitError(SynthesisError):
    """A design that needs more of a kind of cell than the device has."""

    def __init__(self, top: str, device: str, kind: str, needed: int, available: int) -> None:
        super().__init__(
            f"{top} does not fit an ECP5 {device}: it needs {needed:,} {kind}, "
            f"the device has {available:,}"
        )
        self.kind = kind
        self.needed = needed
        self.available = available
