"""Networks on a GPU against this processor, output by output.

    python -m tests.support.compiler.machines.gpu.network_comparison MODEL... [--device cuda]

prints a row for each model, a built-in name or an ONNX file, in its floats and in int8: how many
elements of its outputs differ in a bit, and the largest difference as a part of the output's
largest magnitude. It is what to run where there is a GPU; without one, pocl is the device `opencl`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.quantise.options import Mode
from tandem.compiler.quantise.samples import synthetic
from tandem.runtime.artifact import Artifact
from tandem.runtime.devices import CpuDevice, Device
from tandem.runtime.devices.cuda import CudaDevice
from tandem.runtime.devices.opencl import OpenClDevice
from tandem.runtime.executor import Executor
from tandem.workbench.devices import GPUS, Cpu, OnGpu
from tandem.workbench.models import ModelOptions, prepared_network

DEVICES = {"opencl": OpenClDevice, "cuda": CudaDevice}
ROUNDINGS = 2e-4
"""The largest difference of a float32 network, as a part of the largest magnitude: sums round in
another order, and functions are the device's own."""
HALVES = 2.0**-8
"""Likewise of a network of float16: a difference in a last bit of a sum becomes a step of float16,
a part of 2**-11 to 2**-10, where it is rounded, and layers add such steps up."""
STEPS = 0.06
"""Likewise of a network of integers with float32 operators between them: a difference in a last bit
becomes a step of 8 bits where it is rounded."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outputs of a network on a GPU and on this processor.

    Attributes
    ----------
    elements, different
        Elements of outputs, and those of them whose bits differ.
    largest
        The largest difference, as a part of its output's largest magnitude.
    steps
        Of the artifact for the GPU.
    half
        Whether an output is float16.
    """

    elements: int
    different: int
    largest: float
    steps: int
    half: bool

    def holds(self, bound: float) -> bool:
        """Whether all bits are equal, or differences within a bound."""
        return self.different == 0 or self.largest <= bound


def compared(model: str, quantise: Mode | None, target: OnGpu, device: Device) -> Comparison:
    """Compile a model for both, run it on the same noise, and compare."""
    prepared = prepared_network(model, ModelOptions(quantise=quantise))
    (sample,) = synthetic(prepared.function, 1)
    artifact = target.build(prepared)
    wanted = _outputs(Cpu(1).build(prepared), sample, [CpuDevice(1)])
    found = _outputs(artifact, sample, [device, CpuDevice(1)])
    elements = different = 0
    largest = 0.0
    for name, ours in found.items():
        theirs = wanted[name]
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), name
        elements += ours.size
        unlike = ours.view(np.uint8) != theirs.view(np.uint8) if ours.ndim else ours != theirs
        if np.any(unlike):
            different += int(np.count_nonzero(~np.equal(ours, theirs)))
            one, other = (each.astype(np.float64) for each in (ours, theirs))
            largest = max(largest, float(np.abs(one - other).max() / np.abs(other).max()))
    half = any(each.dtype == np.float16 for each in found.values())
    return Comparison(elements, different, largest, len(artifact.manifest.steps), half)


def _outputs(
    artifact: Artifact, sample: Sequence[Any], devices: Sequence[Device]
) -> Mapping[str, NDArray[Any]]:
    executor = Executor(artifact, devices)
    named = zip(executor.inputs, sample, strict=True)
    return executor.run({each.name: np.asarray(array) for each, array in named}).outputs


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare networks; returns 1 if one is outside of its bound."""
    parser = argparse.ArgumentParser(description="networks on a GPU against this processor")
    parser.add_argument("model", nargs="+", help="a built-in model or an ONNX file")
    parser.add_argument("--device", choices=[*DEVICES], default="opencl")
    asked = parser.parse_args(arguments)
    device, target = DEVICES[asked.device](), GPUS[asked.device]()
    print(f"{device.model}: differing elements of outputs, and the largest difference")
    failed = False
    for model in asked.model:
        for kind, mode, bound in (("floats", None, ROUNDINGS), ("int8", Mode.MULTIPLIER, STEPS)):
            it = compared(model, mode, target, device)
            bound = max(bound, HALVES) if it.half else bound
            failed |= not it.holds(bound)
            print(
                f"{Path(model).name} {kind}: {it.steps} steps, {it.different:,} of "
                f"{it.elements:,} differ, {it.largest:.1e}{'' if it.holds(bound) else ' WRONG'}",
                flush=True,
            )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
