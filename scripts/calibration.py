"""The warning about a network whose scales were measured with other values than the user's."""

from __future__ import annotations

from tandem.runtime.artifact import Provenance

NOISE = (
    "calibrated with noise: int8 scales were measured with random inputs, not with yours, and "
    "results may be far from float32's. --calibrate PATH takes inputs of yours; tandem run "
    "--accuracy shows what each layer loses"
)
"""The warning about a user's model whose scales were measured with noise."""


def calibration_warning(provenance: Provenance) -> str | None:
    """The warning about calibration with noise, or with zeros alone; None for other samples, and
    for noise in a built-in network."""
    if provenance.zero_inputs is not None:
        return (
            f"calibrated with zeros: every value of {provenance.zero_inputs} was 0 in all samples "
            "of --calibrate, so that the scales say nothing of other inputs"
        )
    return NOISE if provenance.calibrated_with_noise else None
