"""The warning about a network whose scales were measured with noise, for callers in Python."""

from __future__ import annotations

from tandem.runtime.artifact import Provenance
from tandem.workbench.models import is_calibrated_with_noise


def noise_warning(provenance: Provenance, name: str) -> str | None:
    """The warning about calibration with noise; None for a built-in network, or without noise."""
    if not is_calibrated_with_noise(provenance):
        return None
    return (
        f"{name} is calibrated with noise: its int8 scales were measured with random inputs, and "
        "results may be far from float32's; calibrate= takes inputs of yours"
    )
