"""Kernels in OpenCL C, as a storable value."""

from __future__ import annotations

from typing import ClassVar

from tandem.runtime.artifact.gpu_code import GpuCode


class OpenClCode(GpuCode, frozen=True, forbid_unknown_fields=True):
    """A function on a GPU in OpenCL C: code of the kind `opencl`.

    Attributes
    ----------
    options
        Of the device's compiler.
    """

    options: tuple[str, ...]

    kind: ClassVar[str] = "opencl"
    language: ClassVar[str] = "OpenCL C"
