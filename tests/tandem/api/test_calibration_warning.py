"""Which networks are warned about."""

from __future__ import annotations

from tandem.api.calibration_warning import calibration_warning
from tandem.runtime.artifact import Provenance


def warning(digest: str | None = "d", **options: str) -> str | None:
    return calibration_warning(Provenance("net", digest, options={**options}), "net")


def test_warnings() -> None:
    assert warning() is None
    assert warning(calibration="given") is None
    # Noise is what a built-in network's inputs are.
    assert warning(None, calibration="noise") is None
    noise = warning(calibration="noise")
    assert noise is not None
    assert noise.startswith("net is calibrated with noise: its int8 scales were measured with ran")
    zeros = warning(None, calibration="given", zero_inputs="a, b")
    assert zeros is not None
    assert zeros.startswith("net is calibrated with zeros: every value of a, b was 0 in all samp")
