"""The warning about a network whose scales were measured with noise, for callers in Python."""

from __future__ import annotations

from tandem.runtime.artifact import Provenance


def noise_warning(provenance: Provenance, name: str) -> str | None:
    """The warning about calibration with noise; None for a built-in network, or without noise."""
    if not provenance.calibrated_with_noise:
        return None
    return (
        f"{name} is calibrated with noise: its int8 scales were measured with random inputs, and "
        "results may be far from float32's; calibrate= takes inputs of yours"
    )
