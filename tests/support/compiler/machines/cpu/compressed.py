"""Layers with compressed weights in tests: random codes and scales, and graphs of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.driver import build
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Function
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse_function
from tandem.compiler.graph.syntax import REFERENCE
from tandem.compiler.ir.dtypes import BOOL, UINT2, UINT4
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.machines.cpu.templates.compressed_layers import CompressedConv2dOnCpu
from tandem.hw.weight_formats import WeightFormat
from tandem.runtime.artifact import Artifact, Provenance
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor

Array = NDArray[Any]
TYPES = {1: BOOL, 2: UINT2, 4: UINT4}
"""The types of codes by their bits."""
MOST_TESTED = 1 << 12
"""The pixels of convolutions."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Random compressed weights, [outputs, inputs, ..]; and the same widened."""

    form: WeightFormat
    group: int
    codes: Array
    scales: Array
    values: Array

    @staticmethod
    def draw(
        form: WeightFormat,
        shape: tuple[int, int],
        group: int,
        seed: int = 0,
        largest: int | None = None,
    ) -> Weights:
        """Weights in groups along the inputs, with scales of which all products are int8, or up to
        `largest`."""
        generator = np.random.default_rng(seed)
        codes = generator.integers(0, 1 << form.bits, shape, np.uint8)
        many = -(-shape[1] // group)
        most = form.largest_scale if largest is None else largest
        scales = generator.integers(0, most + 1, (shape[0], many), np.uint8)
        spread = np.repeat(scales, group, 1)[:, : shape[1]]
        return Weights(
            form,
            group,
            codes.astype(TYPES[form.bits].numpy),
            scales.astype(UINT4.numpy),
            form.widened(codes, spread),
        )

    @staticmethod
    def windows(
        form: WeightFormat, shape: tuple[int, int, int, int], group: int, seed: int = 0
    ) -> Weights:
        """Weights of a convolution, with a scale for each group at each place of a window."""
        outputs, inputs, height, width = shape
        places = height * width
        rows = Weights.draw(form, (outputs * places, inputs), group, seed)

        def moved(array: Array) -> Array:
            whole = array.reshape(outputs, height, width, -1)
            return np.ascontiguousarray(np.moveaxis(whole, -1, 1))

        return replace(
            rows, codes=moved(rows.codes), scales=moved(rows.scales), values=moved(rows.values)
        )

    @property
    def constants(self) -> tuple[Constant, ...]:
        """The operands of `widen`."""
        arrays = (self.codes, self.scales) if self.form.scaled else (self.codes,)
        return tuple(Constant(each) for each in arrays)

    def graph(self, params: str, body: str) -> Function:
        """A function whose `body` reads the widened weights as `w`."""
        known = {each.digest: each for each in self.constants}
        args = ", ".join(f"{each.type} @ {REFERENCE}{each.digest}" for each in self.constants)
        group = f", group={self.group}" if self.form.scaled else ""
        table = f"table={list(self.form.table)}{group}"
        text = f"func @f({params}):\n  w = widen({args}, {table})\n{body}"
        return parse_function(text, OPERATORS, known)


def compiled(function: Function, target: CpuTarget) -> Artifact:
    """The artifact of a function for a CPU."""
    return build(function, [cpu(target)], Provenance("f"))


def compiled_with_codes(function: Function, machine: CpuTarget) -> Artifact:
    """The artifact of a function for a CPU whose convolutions read codes for any number of pixels
    that is tested."""
    target, template = cpu(machine), CompressedConv2dOnCpu(lambda _: MOST_TESTED)
    others = (each for each in target.templates if each.name != template.name)
    templates = template, *others
    reading = replace(target, templates=templates, takes_compressed=lambda _, __: True)
    return build(function, [reading], Provenance("f"))


def constant_types(artifact: Artifact) -> set[str]:
    """The types of an artifact's constants."""
    tensors = artifact.manifest.tensors
    return {tensor.dtype for tensor in tensors if tensor.name.startswith("constant")}


def run(artifact: Artifact, arrays: dict[str, Array]) -> dict[str, Array]:
    """The results of an artifact for a CPU."""
    return dict(Executor(artifact, [CpuDevice(1)]).run(arrays).outputs)
