"""The warning about a network whose scales were measured with other values than the caller's."""

from __future__ import annotations

from tandem.runtime.artifact import Provenance


def calibration_warning(provenance: Provenance, name: str) -> str | None:
    """The warning about calibration with noise, or with zeros alone; None for other samples, and
    for noise in a built-in network."""
    if provenance.zero_inputs is not None:
        return (
            f"{name} is calibrated with zeros: every value of {provenance.zero_inputs} was 0 in "
            "all samples of calibrate=, so that the scales say nothing of other inputs"
        )
    if not provenance.calibrated_with_noise:
        return None
    return (
        f"{name} is calibrated with noise: its int8 scales were measured with random inputs, and "
        "results may be far from float32's; calibrate= takes inputs of yours"
    )
