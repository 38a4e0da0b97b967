"""Programs run by OpenCL; tests that use it are skipped without pyopencl and a device."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.machines.gpu.kernels import opencl_code
from tandem.compiler.machines.gpu.launch import GpuProgram
from tandem.runtime.devices.opencl import OpenClDevice, opencl_devices
from tandem.runtime.errors import RunError


@cache
def _found() -> OpenClDevice | None:
    try:
        return OpenClDevice() if opencl_devices() else None
    except RunError:
        return None


def opencl_device() -> OpenClDevice:
    """The first device of OpenCL; skips the test where there is none."""
    found = _found()
    if found is None:
        pytest.skip("there is no device of OpenCL: pyopencl and pocl-binary-distribution are one")
    return found


def on_opencl(program: GpuProgram, arrays: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """The outputs of a program, run by OpenCL."""
    device = opencl_device()
    outputs = [np.empty(each.shape, each.dtype.numpy) for each in program.outputs]
    device.load(opencl_code(program))(list(arrays), outputs)
    return outputs
