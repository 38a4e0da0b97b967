"""The programs of a network's kernels: those of its artifact."""

from __future__ import annotations

from tandem.compiler.driver.build import build
from tandem.compiler.machines.gpu.kernels import opencl_code
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.network_programs import network_programs
from tandem.compiler.machines.gpu.target import gpu
from tandem.runtime.artifact import Provenance
from tests.support.runtime.artifacts import network


def test_programs_are_those_of_the_artifact() -> None:
    function, machine = network(), GpuMachine()
    found = network_programs(function, machine)
    artifact = build(function, [gpu(machine)], Provenance("test"))
    assert {name: opencl_code(each) for name, each in found.items()} == dict(artifact.code)
