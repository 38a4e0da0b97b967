"""Layers of ONNX models that state their own scales, compiled for a machine and compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray
from onnx import ModelProto

from compiler.driver.compile_onnx import CompileOptions, prepare_network
from hw.config import HardwareConfig
from hw.memory_model import parse_memory
from runtime.artifact import Provenance, StreamCall
from runtime.devices import AcceleratorDevice, CpuDevice
from runtime.devices.device import Device
from runtime.executor import Executor
from scripts.run.comparison import boundaries, compare
from sim.engines import make_engine
from tests.support.offloaded import targets

Arrays = Mapping[str, NDArray[Any]]


def share_and_outputs(
    model: ModelProto, data: Arrays, config: HardwareConfig
) -> tuple[float, tuple[NDArray[Any], ...]]:
    """The share of a model's multiply-accumulates on the accelerator, and its outputs, which the
    CPU gives too, bit for bit, as it does all tensors between the two devices."""
    network = prepare_network(model, Provenance("layer"), CompileOptions())
    artifact = network.build(targets(config))
    host = Executor(network.build(targets(config), fallback=True), [CpuDevice(1)])
    names = boundaries(artifact)
    engine = make_engine("functional", config, parse_memory("fast"))
    try:
        devices: list[Device] = (
            [AcceleratorDevice(engine), CpuDevice(1)] if names else [CpuDevice(1)]
        )
        run, reference = (
            each.run(data, watch=names) for each in (Executor(artifact, devices), host)
        )
    finally:
        engine.close()
    compared = compare(run, reference, artifact)
    assert compared.equal, compared.first
    steps = artifact.manifest.steps
    whole = sum(step.macs for step in steps)
    there = sum(step.macs for step in steps if isinstance(step, StreamCall))
    return there / whole if whole else 0.0, tuple(run.outputs.values())
