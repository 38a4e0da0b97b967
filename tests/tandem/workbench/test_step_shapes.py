"""`tandem.workbench.step_shapes`."""

from __future__ import annotations

from tandem.runtime.artifact import (
    Arena,
    ConstantPlace,
    Input,
    Manifest,
    Output,
    Place,
    Port,
    Provenance,
    Step,
    Tensor,
)
from tandem.workbench.step_shapes import step_shapes


def test_what_a_step_reads_and_writes() -> None:
    places: dict[str, tuple[str, tuple[int, ...], Place]] = {
        "image": ("int8", (1, 3, 8, 8), Input()),
        "scale": ("float32", (), ConstantPlace()),
        "bias": ("int32", (4,), ConstantPlace()),
        "weights": ("int8", (4, 3, 1, 1), ConstantPlace()),
        "count": ("int64", (), Arena(0)),
        "sums": ("int32", (1, 4, 8, 8), Output()),
        "other": ("int8", (0,), Output()),
    }
    tensors = tuple(
        Tensor(name, shape, dtype, place) for name, (dtype, shape, place) in places.items()
    )
    read = ("image", "weights", "bias", "scale", "count")
    step = Step("conv", "cpu", "code", read, ("sums", "other"), ("conv2d",), 768)
    ports = (Port("image", "image"),), (Port("sums", "sums"), Port("other", "other"))
    found = step_shapes(Manifest("net", Provenance("net"), tensors, *ports, (step,), 8), step)
    assert found == (
        "int8[1, 3, 8, 8], int8[4, 3, 1, 1], int64[]",
        "-> int32[1, 4, 8, 8], int8[0]",
    )
