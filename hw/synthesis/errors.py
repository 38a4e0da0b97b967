"""The error that `hw.synthesis` raises."""

from __future__ import annotations

from hw.errors import HardwareError

__all__ = ["SynthesisError"]


class SynthesisError(HardwareError):
    """A design that Yosys could not synthesise, or a result of Yosys that cannot be interpreted."""
