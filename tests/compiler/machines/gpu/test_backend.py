"""Networks on a GPU: steps, memory that stays, and results that agree with the graph's."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.driver.build import build
from tandem.compiler.graph import Function
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.visit import functions
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.machines.gpu.backend import OnDevice
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.target import gpu
from tandem.runtime.artifact import Artifact, Kept, Provenance, from_bytes, to_bytes
from tandem.runtime.artifact.opencl import OpenClCode
from tandem.runtime.devices import CpuDevice
from tandem.runtime.errors import RunError
from tandem.runtime.executor import Executor
from tests.support.compiler.graph.graphs import inputs, same_values
from tests.support.compiler.machines.gpu.on_opencl import opencl_device
from tests.support.runtime.artifacts import network


def built(function: Function) -> Artifact:
    """The artifact of a function for a GPU."""
    return build(function, [gpu(GpuMachine())], Provenance("test"))


def test_every_step_is_the_device_s() -> None:
    artifact = built(network())
    assert {step.device for step in artifact.manifest.steps} == {"opencl"}
    assert all(isinstance(code, OpenClCode) for code in artifact.code.values())
    # What no port is stays on the device.
    ports = (*artifact.manifest.inputs, *artifact.manifest.results)
    between = {name for step in artifact.manifest.steps for name in step.outputs}
    between -= {port.tensor for port in ports}
    places = {each.name: each.place for each in artifact.manifest.tensors}
    assert all(places[name] == Kept("opencl") for name in between)


def test_there_and_back() -> None:
    artifact = built(network())
    again = from_bytes(to_bytes(artifact))
    assert again.manifest == artifact.manifest
    assert again.code == artifact.code


def test_without_its_device() -> None:
    with pytest.raises(RunError, match="needs the device opencl; there are: cpu"):
        Executor(built(network()), [CpuDevice(1)])


def test_kernels_say_their_target() -> None:
    target = gpu(GpuMachine())
    backend = target.make_backend(target)
    function = network()
    for step in backend.passes():
        function = step.apply(function)
    kernels = [each for each in functions(function) if each is not function]
    assert {each.target for each in kernels} == {"opencl"}
    assert text(OnDevice("opencl").apply(function)) == text(function)


def test_results() -> None:
    device = opencl_device()
    function = network()
    given = inputs(function)
    wanted = evaluate(function, given, NativeRunner(reassociate=False))
    arrays = {
        param.name: np.asarray(array) for param, array in zip(function.params, given, strict=True)
    }
    executor = Executor(built(function), [device, CpuDevice(1)])
    for _ in range(2):
        for one, other in zip(wanted, executor.run(arrays).outputs.values(), strict=True):
            same_values(one, other, 1e-5)
