"""The device of NVIDIA's driver: arguments, order, memory, refusals; without a GPU."""

from __future__ import annotations

import gc
import sys

import msgspec
import numpy as np
import pytest

from tandem.compiler.driver.build import build
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.machines.gpu.kernels import ptx_code
from tandem.compiler.machines.gpu.lower.lowering import gpu_program
from tandem.compiler.machines.gpu.machine import nvidia_gpu
from tandem.compiler.machines.gpu.network_programs import network_programs
from tandem.compiler.machines.gpu.target import gpu
from tandem.runtime.artifact import Kept, Provenance, Tensor
from tandem.runtime.artifact.gpu_code import GpuLaunch
from tandem.runtime.devices import CpuDevice
from tandem.runtime.devices.cuda import CudaDevice, cuda_gpus
from tandem.runtime.devices.cuda_driver import CudaDriver, CudaError, cuda_driver
from tandem.runtime.errors import RunError
from tandem.runtime.executor import Executor
from tests.support.compiler.graph.graphs import inputs, same_values
from tests.support.compiler.machines.gpu.schedules import transposed
from tests.support.runtime.artifacts import network
from tests.support.runtime.cuda_on_host import CudaOnHost

PROGRAM = gpu_program(transposed(8, 8).program, nvidia_gpu())
CODE = ptx_code(PROGRAM, "sm_80")
DATA = np.arange(64, dtype=np.int32).reshape(8, 8)


def device(driver: CudaOnHost) -> CudaDevice:
    return CudaDevice(driver=CudaDriver(driver))


def test_arrays_of_the_host() -> None:
    driver = CudaOnHost([PROGRAM])
    run = device(driver).load(CODE)
    for scale in (1, 3):
        result = np.zeros((8, 8), np.int32)
        run([DATA * scale], [result])
        np.testing.assert_array_equal(result, (DATA * scale).T + 1)


def test_the_stream_is_in_order() -> None:
    driver = CudaOnHost([PROGRAM])
    run = device(driver).load(CODE)
    driver.calls.clear()
    run([DATA], [np.zeros((8, 8), np.int32)])
    moved = [each for each in driver.calls if each not in ("cuMemAlloc", "cuStreamSynchronize")]
    assert moved == ["cuMemcpyHtoDAsync", "cuLaunchKernel", "cuMemcpyDtoHAsync"]
    assert driver.calls[-1] == "cuStreamSynchronize"


def test_memory_of_the_device() -> None:
    driver = CudaOnHost([PROGRAM])
    held = device(driver)
    tensor = Tensor("t", (8, 8), "int32", Kept(held.name))
    kept, result = held.allocate(tensor), np.zeros((8, 8), np.int32)
    first, second = held.load(CODE), held.load(CODE)
    first([DATA], [kept])
    driver.calls.clear()
    second([kept], [result])
    assert "cuMemcpyHtoDAsync" not in driver.calls
    np.testing.assert_array_equal(result, DATA + 2)
    np.testing.assert_array_equal(held.read(tensor, kept), DATA.T + 1)
    del kept, first, second
    gc.collect()
    assert driver.live == {}


def test_the_device_s_own_time() -> None:
    """The driver of tests takes a millisecond for a launch, and none for copies."""
    driver = CudaOnHost([PROGRAM])
    held = device(driver)
    run, result = held.load(CODE), np.zeros((8, 8), np.int32)

    def twice() -> None:
        run([DATA], [result])
        run([DATA], [result])

    assert held.seconds_of(twice) == pytest.approx(2e-3)
    assert driver.calls.count("cuEventDestroy") == driver.calls.count("cuEventCreate") == 4
    run([DATA], [result])
    assert driver.calls.count("cuEventCreate") == 4


def test_a_network() -> None:
    function, machine = network(), nvidia_gpu()
    given = inputs(function)
    wanted = evaluate(function, given, NativeRunner(reassociate=False))
    arrays = {
        param.name: np.asarray(array) for param, array in zip(function.params, given, strict=True)
    }
    driver = CudaOnHost([*network_programs(function, machine).values()])
    artifact = build(function, [gpu(machine)], Provenance("test"))
    assert {step.device for step in artifact.manifest.steps} == {"cuda"}
    executor = Executor(artifact, [device(driver), CpuDevice(1)])
    for one, other in zip(wanted, executor.run(arrays).outputs.values(), strict=True):
        same_values(one, other, 1e-5)


def test_refusals() -> None:
    held = device(CudaOnHost([PROGRAM]))
    with pytest.raises(RunError, match="on Host GPU: cuModuleLoadData: CUDA_ERROR_INVALID_PTX"):
        held.load(msgspec.structs.replace(CODE, source="nonsense"))
    with pytest.raises(RunError, match=r"is for compute capability 9\.0 or more, and .* has 8\.0"):
        held.load(msgspec.structs.replace(CODE, capability=(9, 0)))
    (launch,) = CODE.launches
    wide = msgspec.structs.replace(launch, threads=2048)
    with pytest.raises(RunError, match="has blocks of 2048 threads, and Host GPU has 1024"):
        held.load(msgspec.structs.replace(CODE, launches=(wide,)))
    unknown = (GpuLaunch("unknown", 1, 1, ("A", "C")),)
    with pytest.raises(CudaError, match="cuModuleGetFunction: CUDA_ERROR_NOT_FOUND: in words"):
        held.load(msgspec.structs.replace(CODE, launches=unknown))
    other = msgspec.structs.replace(launch, blocks=launch.blocks + 1)
    run = held.load(msgspec.structs.replace(CODE, launches=(other,)))
    with pytest.raises(CudaError, match="cuLaunchKernel: CUDA_ERROR_INVALID_VALUE"):
        run([DATA], [np.zeros((8, 8), np.int32)])
    with pytest.raises(RunError, match=r"4096 bytes on Host GPU: cuMemAlloc: .*OUT_OF_MEMORY"):
        device(CudaOnHost(memory=1024)).memory(4096)


def test_which_gpu() -> None:
    (found,) = cuda_gpus(CudaDriver(CudaOnHost(capability=(9, 0))))
    assert (found.name, found.capability, found.threads) == ("Host GPU", (9, 0), 1024)
    with pytest.raises(RunError, match="there is no GPU 0 of NVIDIA's: there are 0"):
        device(CudaOnHost(gpus=0))


def test_without_cuda_bindings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    for call in (cuda_driver, cuda_gpus, CudaDevice):
        with pytest.raises(RunError, match=r"install the extra, tandem-workbench\[cuda\]"):
            call()


def test_without_a_driver() -> None:
    """The library itself, where it is installed and finds no driver."""
    pytest.importorskip("cuda.bindings", reason="what calls the driver")
    try:
        found = cuda_gpus()
    except RunError as error:
        assert "there is no driver of NVIDIA's GPUs: " in str(error)  # noqa: PT017
    else:
        assert all(each.memory > 0 for each in found)
