"""The error that `hw.synthesis` raises."""

from __future__ import annotations

from hw.errors import HardwareError


class SynthesisError(HardwareError):
    """A design that Yosys could not synthesise, or a result of Yosys that cannot be interpreted."""
