"""The device of OpenCL: loads, runs, keeps tensors, refuses."""

from __future__ import annotations

import sys

import msgspec
import numpy as np
import pytest

from tandem.runtime.artifact import Kept, Tensor
from tandem.runtime.artifact.gpu_code import GpuArray, GpuLaunch
from tandem.runtime.artifact.opencl import OpenClCode
from tandem.runtime.devices.opencl import OpenClDevice, first_opencl_device, opencl_devices
from tandem.runtime.errors import RunError
from tests.support.compiler.machines.gpu.on_opencl import opencl_device

SOURCE = """kernel void twice(global const float *a, global float *b) {
  b[get_global_id(0)] = a[get_global_id(0)] * 2.0f;
}
"""
CODE = OpenClCode(
    "twice",
    SOURCE,
    (GpuArray("a", (6,), "float32"),),
    (GpuArray("b", (6,), "float32"),),
    (),
    (GpuLaunch("twice", 2, 3, ("a", "b")),),
    (),
)
DATA = np.arange(6, dtype=np.float32)


def test_arrays_of_the_host() -> None:
    run = opencl_device().load(CODE)
    for scale in (1, 3):
        result = np.zeros(6, np.float32)
        run([DATA * scale], [result])
        np.testing.assert_array_equal(result, DATA * scale * 2)


def test_memory_of_the_device() -> None:
    device = opencl_device()
    tensor = Tensor("t", (6,), "float32", Kept(device.name))
    kept, result = device.allocate(tensor), np.zeros(6, np.float32)
    first, second = device.load(CODE), device.load(CODE)
    first([DATA], [kept])
    second([kept], [result])
    np.testing.assert_array_equal(result, DATA * 4)
    np.testing.assert_array_equal(device.read(tensor, kept), DATA * 2)


def test_the_device_s_own_time() -> None:
    device = opencl_device()
    run, result = device.load(CODE), np.zeros(6, np.float32)
    assert 0 < device.seconds_of(lambda: run([DATA], [result])) < 10
    np.testing.assert_array_equal(result, DATA * 2)
    assert device.seconds_of(lambda: None) == 0


def test_refusals() -> None:
    device = opencl_device()
    with pytest.raises(RunError, match=r"twice on .*"):
        device.load(msgspec.structs.replace(CODE, source="kernel void twice( {"))
    launch = (GpuLaunch("twice", 1, 1 << 20, ("a", "b")),)
    with pytest.raises(RunError, match="twice has blocks of 1048576 threads, and"):
        device.load(msgspec.structs.replace(CODE, launches=launch))


def test_without_pyopencl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    for call in (opencl_devices, OpenClDevice):
        with pytest.raises(RunError, match=r"install the extra, tandem-workbench\[opencl\]"):
            call()


def test_the_first_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a device at hand: tests that need one are skipped where there is none."""
    monkeypatch.setattr("tandem.runtime.devices.opencl.opencl_devices", lambda: ["gpu", "cpu"])
    assert first_opencl_device() == "gpu"
    monkeypatch.setattr("tandem.runtime.devices.opencl.opencl_devices", list)
    with pytest.raises(RunError, match=r"^there is no device of OpenCL: install a driver, or the"):
        first_opencl_device()
