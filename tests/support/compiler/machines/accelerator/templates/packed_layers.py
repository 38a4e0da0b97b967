"""Layers with packed weights, run as a packing program and a layer program."""

from __future__ import annotations

from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.layer import LayerOnCpu, PackedLayer
from tandem.compiler.te import Tensor
from tandem.compiler.te.build import program_of
from tests.support.compiler.operators.operators import Array, given_as


def packed(
    template: type[LayerOnCpu], arrays: dict[str, Array], target: CpuTarget, **options: object
) -> PackedLayer:
    """A layer of data `X`, weight `W` and, where there is one, bias `B`."""
    tensors = {name: given_as(name, array) for name, array in arrays.items()}
    simd = Simd.of(target)
    bias = tensors.get("B")
    layer = template.packed(tensors["X"], tensors["W"], bias=bias, simd=simd, **options)
    assert layer is not None
    return layer


def run(
    template: type[LayerOnCpu],
    layer: PackedLayer,
    arrays: dict[str, Array],
    target: CpuTarget,
    output: Tensor | None = None,
) -> Array:
    """The layer's output, by both programs, or by one that packs the weight itself; arrays besides
    `X` and `W` are in argument order."""
    packed = [
        compile_function(program_of([packing]), target)(arrays["W"])[0]
        for packing in layer.packings
    ]
    others = [array for name, array in arrays.items() if name not in ("X", "W")]
    program = template.scheduled(layer, layer.output if output is None else output).program
    weights = packed if layer.packings else [arrays["W"]]
    (result,) = compile_function(program, target)(arrays["X"], *weights, *others)
    return result
