"""Layers of ONNX models that state their own scales, compiled for a machine and compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray
from onnx import ModelProto

from tandem.compiler.driver.compile_onnx import prepare_network
from tandem.compiler.machines.defaults import compile_options
from tandem.hw.config import HardwareConfig
from tandem.runtime.artifact import Provenance
from tests.support.compiler.plan.boundaries import check_boundaries


def share_and_outputs(
    model: ModelProto, data: Mapping[str, NDArray[Any]], config: HardwareConfig
) -> tuple[float, tuple[NDArray[Any], ...]]:
    """The share of a model's multiply-accumulates on the accelerator, and its outputs, which the
    CPU gives too, bit for bit, as it does all tensors between the two devices."""
    network = prepare_network(model, Provenance("layer"), compile_options())
    run = check_boundaries(network.build, config, data, poison=0)
    steps = run.profile.steps
    whole = sum(step.macs for step in steps)
    there = sum(step.macs for step in steps if step.device == "accelerator")
    return there / whole if whole else 0.0, tuple(run.outputs.values())
