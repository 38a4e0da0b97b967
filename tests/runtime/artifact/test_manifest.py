"""What manifests say of tensors, provenance and weights."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.runtime.artifact import Arena, Input, PaddedAxis, Provenance, Step, Tensor
from tandem.runtime.artifact.manifest import Count, Manifest, Port, StoredWeights


def test_sizes_and_names_of_tensors() -> None:
    tensor = Tensor("x", (2, 3), "int16", Input())
    assert (tensor.bytes, str(tensor)) == (12, "int16[2, 3]")
    assert Tensor("s", (), "float64", Input()).bytes == 8
    assert Tensor("e", (0, 3), "int16", Input()).bytes == 0


def test_defined_elements() -> None:
    assert Tensor("x", (2, 3), "int8", Arena(0)).defined.tolist() is True
    # 3 rows in blocks of 2, and 5 columns in blocks of 4.
    padded = (PaddedAxis(3, 0, 2), PaddedAxis(5, 1, 3))
    tensor = Tensor("x", (2, 2, 2, 4), "int8", Arena(0), padded=padded)
    found = np.broadcast_to(tensor.defined, tensor.shape)
    wanted = [
        [[[2 * r + a < 3 and 4 * c + b < 5 for b in range(4)] for a in range(2)] for c in range(2)]
        for r in range(2)
    ]
    assert found.tolist() == wanted
    assert found.sum() == 15


def test_steps_on_the_host() -> None:
    assert Step("a", "cpu", "a", (), (), (), 0).on_host
    assert not Step("a", "accelerator", "a", (), (), (), 0).on_host


@pytest.mark.parametrize(
    ("options", "digest", "given", "calibration", "noise", "zeros"),
    [
        ({}, "d", False, None, False, None),
        ({"scales": "given"}, "d", True, None, False, None),
        ({"scales": "own", "calibration": "given"}, "d", False, "given", False, None),
        ({"calibration": "noise"}, "d", False, "noise", True, None),
        ({"calibration": "noise"}, None, False, "noise", False, None),
        ({"zero_inputs": "a, b"}, "d", False, None, False, "a, b"),
    ],
)
def test_provenance(
    options: dict[str, str | int | float | bool | None],
    digest: str | None,
    given: bool,
    calibration: str | None,
    noise: bool,
    zeros: str | None,
) -> None:
    found = Provenance("net", digest, options=options)
    assert (found.scales_are_given, found.calibration) == (given, calibration)
    assert (found.calibrated_with_noise, found.zero_inputs) == (noise, zeros)


CODES = StoredWeights("a", "int4", 64, 40, 32, results=("a", "a_relu"), memory="codes")
WIDE = StoredWeights("b", "int4", 64, 44, results=("b",), memory="int8: no codes")


def test_formats_of_weights() -> None:
    assert (str(CODES), CODES.as_stored) == ("int4/32", "int4/32")
    assert (str(WIDE), WIDE.as_stored) == ("int4", "int4, int8 in memory")


def test_weights_of_layers() -> None:
    manifest = Manifest("net", Provenance("net"), (), (), (), (), 0, weights=(CODES, WIDE))
    assert manifest.weight_bytes == 84
    assert manifest.weights_of("a_relu", 1) is CODES
    assert manifest.weights_of("b", 7) is WIDE
    assert manifest.weights_of("b", 0) is None
    assert manifest.weights_of("c", 7) is None


def test_what_is_read_after_a_run() -> None:
    ports, counts = (Port("y", "t"), Port("z", "u")), (Count("y", 0, "n"),)
    manifest = Manifest("net", Provenance("net"), (), (), ports, (), 0, counts=counts)
    assert manifest.returned == ("t", "u", "n")
