"""Kernels in PTX as bytes, told apart from those in OpenCL C."""

from __future__ import annotations

import pytest

from tandem.runtime.artifact.gpu_code import GpuArray, GpuLaunch
from tandem.runtime.artifact.opencl import OpenClCode
from tandem.runtime.artifact.ptx import PtxCode
from tandem.runtime.errors import ArtifactError

CODE = PtxCode(
    "double",
    ".visible .entry k()",
    (GpuArray("a", (6,), "float32"),),
    (GpuArray("b", (6,), "float32"),),
    (),
    (GpuLaunch("k", 1, 6, ("a", "b")),),
    (8, 0),
)


def test_there_and_back() -> None:
    assert PtxCode.from_bytes(CODE.to_bytes()) == CODE


def test_refusals() -> None:
    with pytest.raises(ArtifactError, match="these are no kernels of ours"):
        OpenClCode.from_bytes(CODE.to_bytes())
    damaged = CODE.to_bytes().replace(b'"capability":[8,0]', b'"capability":[8]')
    with pytest.raises(ArtifactError, match="kernels in PTX: they are damaged"):
        PtxCode.from_bytes(damaged)
