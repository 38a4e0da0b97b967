"""Quantised networks compiled for an accelerator and for the CPU alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.driver import build
from tandem.compiler.graph import Function
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.plan.target import Target
from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import parse_memory
from tandem.runtime.artifact import Artifact, Provenance, config_of
from tandem.runtime.devices import AcceleratorDevice, CpuDevice
from tandem.runtime.executor import Executor, Run
from tandem.sim.engines import make_engine

HOST = cpu(CpuTarget.host(threads=1))


def targets(config: HardwareConfig, threads: int = 2) -> tuple[Target[Any], Target[Any]]:
    """The accelerator with fast memory, and the host on one thread."""
    return accelerator(config, hiding=threads > 1), HOST


def both(function: Function, config: HardwareConfig, threads: int = 2) -> tuple[Artifact, Artifact]:
    """The artifacts of `function` for the CPU alone and for the accelerator."""
    source = Provenance("test")
    return build(function, [HOST], source), build(function, targets(config, threads), source)


def image(shape: tuple[int, ...], seed: int = 0) -> NDArray[np.float32]:
    """A random input array."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def run_on(artifact: Artifact, engine: str, *inputs: NDArray[Any]) -> Run:
    """Run the artifact once, with an engine as the accelerator."""
    config = config_of(artifact)
    assert config is not None, "compiled for one"
    machine = make_engine(engine, config, parse_memory("fast"))
    try:
        executor = Executor(artifact, [AcceleratorDevice(machine), CpuDevice(1)])
        names = [each.name for each in executor.inputs]
        return executor.run(dict(zip(names, inputs, strict=True)))
    finally:
        machine.close()
