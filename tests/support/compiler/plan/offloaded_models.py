"""ONNX models, quantised: on accelerators, on the CPU, and as ONNX's reference computes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

from tandem.compiler.driver.compile_onnx import PreparedNetwork, prepare_network
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.quantise.options import Mode
from tandem.hw.config_files import load_config
from tandem.runtime.artifact import Provenance
from tandem.runtime.executor import Run
from tests.support.compiler.plan.boundaries import check_boundaries
from tests.support.compiler.quantise.networks import sqnr

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Offloaded:
    """A run of a model on an accelerator."""

    run: Run

    @property
    def outputs(self) -> Arrays:
        """The outputs by name."""
        return self.run.outputs

    @property
    def share(self) -> float:
        """The share of multiply-accumulates that the accelerator does."""
        return 1 - self.macs_on_cpu / sum(each.macs for each in self.run.profile.steps)

    @property
    def macs_on_cpu(self) -> int:
        """The multiply-accumulates that the CPU does."""
        steps = self.run.profile.steps
        return sum(each.macs for each in steps if each.device != "accelerator")

    @property
    def launches(self) -> int:
        """The number of streams."""
        return sum(each.device == "accelerator" for each in self.run.profile.steps)


@dataclass(frozen=True)
class QuantisedModel:
    """A model that is calibrated with its inputs, and run with them."""

    model: ModelProto
    mode: Mode
    data: Arrays

    @cached_property
    def network(self) -> PreparedNetwork:
        """The quantised network."""
        options = compile_options(quantise=self.mode, samples=lambda _: [self.data])
        return prepare_network(self.model, Provenance("test"), options)

    @cached_property
    def real(self) -> Arrays:
        """The outputs by ONNX's reference evaluator, by name."""
        found: Any = ReferenceEvaluator(self.model).run(None, dict(self.data))
        names = [each.name for each in self.model.graph.output]
        return dict(zip(names, found, strict=True))

    def on(self, preset: str) -> Offloaded:
        """A run on the functional engine. At every boundary between devices, the tensors have to be
        equal to those on the CPU, in every bit."""
        return Offloaded(check_boundaries(self.network.build, load_config(preset), self.data))

    def sqnr(self, found: Offloaded) -> float:
        """The signal-to-noise ratio of the worst output, in decibels."""
        return min(sqnr(self.real[name], array) for name, array in found.outputs.items())

    def steps_off(self, found: Offloaded, output: str, channel: int) -> float:
        """The largest error of an output's channel, in steps of the output's int8 tensor, of real
        numbers that this tensor can represent."""
        step = self.network.scales[f"{output}_int8"].step
        real = np.clip(self.real[output][:, channel] / step, -128, 127)
        return float(np.abs(found.outputs[output][:, channel] / step - real).max())
