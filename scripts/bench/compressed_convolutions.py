"""What codes cost convolutions: `python -m tandem.scripts.bench.compressed_convolutions`.

Convolutions on one thread as the late layers of ResNet-18 have, for several sizes of image, whose
weights come from codes whatever `most_pixels` says; the speed is that of int8, computed beside.
Several layers with weights of their own are computed one after the other, so that weights come from
beyond the nearest caches, as in a network. Rounds alternate, and the quickest of each counts, in
time of the processor; how far the quickest of the first and of the second half are apart says what
the measurement is worth.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import process_time
from typing import Final

import numpy as np

from tandem.compiler.driver import build
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Function
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse_function
from tandem.compiler.graph.syntax import REFERENCE
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.machines.cpu.templates.compressed_layers import CompressedConv2dOnCpu
from tandem.compiler.plan.target import Target
from tandem.hw.weight_formats import INT4, TERNARY, WeightFormat
from tandem.runtime.artifact import Provenance
from tandem.scripts.bench.compressed_weights import CODES, GROUP, caller, quickest
from tandem.scripts.bench.measurements import Measurement, print_measurements

_FORMATS: Final = (INT4, TERNARY)
_WEIGHTS: Final = 1 << 23
"""The fewest weights of the layers that are computed one after the other."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A convolution of square windows and images; `size` is that of the result."""

    inputs: int
    outputs: int
    kernel: int
    stride: int
    size: int

    def __str__(self) -> str:
        stride = f"/{self.stride}" if self.stride > 1 else ""
        channels = f"{self.inputs}->{self.outputs}"
        return f"{self.kernel}x{self.kernel}{stride} {channels} @{self.size}"

    @property
    def weights(self) -> tuple[int, int, int, int]:
        """The shape of the weights."""
        return self.outputs, self.inputs, self.kernel, self.kernel

    @property
    def data(self) -> tuple[int, int, int, int]:
        """The shape of the image."""
        return 1, self.inputs, self.size * self.stride, self.size * self.stride


LAYERS: Final = (
    *(Layer(512, 512, 3, 1, size) for size in (1, 2, 3, 7)),
    *(Layer(256, 512, 1, 2, size) for size in (1, 2, 3, 7)),
)
"""Those of ResNet-18's layer 4, of images of 32, 64, 96 and 224 pixels."""


def measure(
    machine: CpuTarget, layers: Sequence[Layer], rounds: int, weights: int = _WEIGHTS
) -> Iterator[Measurement]:
    """The speed of layers in compressed formats, in that of int8."""
    for layer in layers:
        copies = -(-weights // int(np.prod(layer.weights)))
        x = np.random.default_rng(2).integers(-128, 128, layer.data, np.int8)
        runs = {}
        for form in (None, *_FORMATS):
            function = convolutions(layer, form, copies)
            artifact = build(function, [reading_codes(machine)], Provenance("layers"))
            runs["int8" if form is None else form.name] = caller(artifact, x)
        halves = [quickest(runs, -(-rounds // 2), process_time) for _ in range(2)]
        seconds = {name: min(half[name] for half in halves) for name in runs}
        apart = max(max(half[name] / seconds[name] for half in halves) for name in runs)
        yield Measurement(f"{layer}, int8", seconds["int8"] / copies * 1e6, "us")
        for form in _FORMATS:
            faster = seconds["int8"] / seconds[form.name]
            yield Measurement(f"{layer}, {form.name}", faster, "times int8's")
        yield Measurement(f"{layer}, halves apart", 100 * (apart - 1), "%")


def reading_codes(machine: CpuTarget) -> Target[CpuTarget]:
    """A processor whose convolutions read codes for any number of pixels."""
    target, template = cpu(machine), CompressedConv2dOnCpu(lambda _: sys.maxsize)
    others = (each for each in target.templates if each.name != template.name)
    return replace(target, templates=(template, *others), takes_compressed=lambda _, __: True)


def convolutions(layer: Layer, form: WeightFormat | None, copies: int) -> Function:
    """Layers of random weights in a format, or in int8, side by side."""
    generator = np.random.default_rng(1)
    constants: list[Constant] = []
    lines: list[str] = []

    def text(constant: Constant) -> str:
        constants.append(constant)
        return f"{constant.type} @ {REFERENCE}{constant.digest}"

    for number in range(copies):
        if form is None:
            weights = text(Constant(generator.integers(-128, 128, layer.weights, np.int8)))
        else:
            codes = generator.integers(0, 1 << form.bits, layer.weights, np.uint8)
            operands, attributes = [text(Constant(codes.astype(CODES[form.bits].numpy)))], ""
            if form.scaled:
                outputs, inputs, *window = layer.weights
                shape = outputs, inputs // GROUP, *window
                scales = generator.integers(1, form.largest_scale + 1, shape, np.uint8)
                operands.append(text(Constant(scales.astype(CODES[4].numpy))))
                attributes = f", group={GROUP}"
            table = f"table={list(form.table)}{attributes}"
            lines.append(f"  w{number} = widen({', '.join(operands)}, {table})")
            weights = f"w{number}"
        padding, strides = [layer.kernel // 2] * 4, [layer.stride] * 2
        attributes = f"padding={padding}, strides={strides}"
        lines.append(f"  y{number} = conv2d(x, {weights}, {attributes})")
    results = ", ".join(f"y{number}" for number in range(copies))
    head = f"func @layers(x: int8{list(layer.data)}):\n"
    body = "\n".join([*lines, f"  r = ({results},)", "  return r\n"])
    return parse_function(head + body, OPERATORS, {each.digest: each for each in constants})


def main(arguments: Sequence[str] = ()) -> int:
    """The command; gives its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--avx2", action="store_true", help="without AVX-512")
    given = parser.parse_args(arguments)
    machine = CpuTarget.host(threads=1)
    if given.avx2:
        machine = machine.without("avx512f")
    return print_measurements(measure(machine, LAYERS, given.rounds))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
