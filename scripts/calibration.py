"""The warning about a network whose scales were measured with noise."""

from __future__ import annotations

from tandem.runtime.artifact import Provenance

NOISE = (
    "calibrated with noise: int8 scales were measured with random inputs, not with yours, and "
    "results may be far from float32's. --calibrate PATH takes inputs of yours; tandem run "
    "--accuracy shows what each layer loses"
)
"""The warning about a user's model whose scales were measured with noise."""


def noise_warning(provenance: Provenance) -> str | None:
    """The warning about calibration with noise; None for a built-in network, or without noise."""
    return NOISE if provenance.calibrated_with_noise else None
