"""Kernels in OpenCL C as bytes, and what is refused."""

from __future__ import annotations

import msgspec
import pytest

from tandem.runtime.artifact.gpu_code import GpuArray, GpuLaunch
from tandem.runtime.artifact.opencl import OpenClCode
from tandem.runtime.errors import ArtifactError

CODE = OpenClCode(
    "double",
    "kernel void k(global const float *a, global float *b) {}",
    (GpuArray("a", (2, 3), "float32"),),
    (GpuArray("b", (2, 3), "float32"),),
    (),
    (GpuLaunch("k", 1, 6, ("a", "b")),),
    ("-cl-std=CL1.2",),
)


def test_there_and_back() -> None:
    assert OpenClCode.from_bytes(CODE.to_bytes()) == CODE
    assert (CODE.reads, CODE.writes) == (CODE.inputs, CODE.outputs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scratch": (GpuArray("a", (), "int8"),)}, "two arrays have one name"),
        ({"scratch": (GpuArray("s", (-1,), "int8"),)}, r"s is int8\[-1\]"),
        ({"scratch": (GpuArray("s", (1,), "int9"),)}, r"s is int9\[1\]"),
        ({"launches": (GpuLaunch("k", 1, 0, ()),)}, "k has 1 blocks of 0"),
        ({"launches": (GpuLaunch("k", 1, 1, ("c",)),)}, "k has no array c"),
    ],
)
def test_refusals(change: dict[str, object], message: str) -> None:
    with pytest.raises(ArtifactError, match=message):
        msgspec.structs.replace(CODE, **change)


@pytest.mark.parametrize("at", [0, 20, 40])
def test_damaged_bytes(at: int) -> None:
    data = CODE.to_bytes()
    with pytest.raises(ArtifactError, match=r"no kernels of ours|damaged"):
        OpenClCode.from_bytes(data[:at] + b"\xff" + data[at + 1 :])
