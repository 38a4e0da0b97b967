"""The warning about scales that were measured with other values."""

from __future__ import annotations

from tandem.runtime.artifact import Provenance
from tandem.scripts.calibration import NOISE, calibration_warning

Options = dict[str, str | int | float | bool | None]


def test_whose_scales_are_warned_of() -> None:
    noise: Options = {"calibration": "noise"}
    assert calibration_warning(Provenance("net.onnx", "ab", options=noise)) == NOISE
    # Built-in networks have noise for inputs.
    assert calibration_warning(Provenance("digits", None, options=noise)) is None
    given = Provenance("net.onnx", "ab", options={"calibration": "given"})
    assert calibration_warning(given) is None
    assert calibration_warning(Provenance("net.onnx", "ab")) is None
    zeros: Options = {"calibration": "given", "zero_inputs": "mask, tokens"}
    assert calibration_warning(Provenance("net.onnx", None, options=zeros)) == (
        "calibrated with zeros: every value of mask, tokens was 0 in all samples of --calibrate, "
        "so that the scales say nothing of other inputs"
    )
