"""Kernels in PTX, as a storable value."""

from __future__ import annotations

from typing import ClassVar

from tandem.runtime.artifact.gpu_code import GpuCode


class PtxCode(GpuCode, frozen=True, forbid_unknown_fields=True):
    """A function on NVIDIA's GPUs in PTX: code of the kind `ptx`.

    Attributes
    ----------
    capability
        The least compute capability of a GPU that runs it: (8, 0) for `sm_80`.
    """

    capability: tuple[int, int]

    kind: ClassVar[str] = "ptx"
    language: ClassVar[str] = "PTX"
