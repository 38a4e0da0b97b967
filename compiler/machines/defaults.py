"""How networks are compiled unless someone says otherwise: with Tandem's own machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tandem.compiler.driver.compile_onnx import CompileOptions, Samples
from tandem.compiler.graph.evaluate import Runner
from tandem.compiler.machines.accelerator.recorded import recorded_accelerator
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.quantise.options import Mode
from tandem.compiler.quantise.weight_options import INT8_WEIGHTS, WeightOptions
from tandem.compiler.tune.transfer import TargetOf
from tandem.hw.config import HardwareConfig

LEARNED: Mapping[str, TargetOf] = MappingProxyType({"accelerator": recorded_accelerator})
"""The targets whose records the tuner learns from, by their names in records."""


def compile_options(
    quantise: Mode | None = Mode.MULTIPLIER,
    samples: Samples | None = None,
    seed: int = 0,
    keep_float: Sequence[str] = (),
    *,
    integer_ports: bool = False,
    weights: WeightOptions = INT8_WEIGHTS,
) -> CompileOptions:
    """Options by which this processor and every accelerator give the same results; parameters are
    those of `CompileOptions`."""
    # All configurations have the same base instruction set.
    exact_on = (accelerator(HardwareConfig()),)
    kept = tuple(keep_float)
    return CompileOptions(
        exact_on, host_runner, quantise, samples, seed, kept, integer_ports, weights
    )


def host_runner() -> Runner:
    """A runner of computations on all cores of this processor."""
    return NativeRunner(CpuTarget.host().threads)
