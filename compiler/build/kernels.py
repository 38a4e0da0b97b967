"""A kernel of the graph as a program for the CPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from compiler.build.macs import macs_of
from compiler.errors import ScheduleError
from compiler.graph.expressions import tensors
from compiler.graph.nodes import Call, Function, Var
from compiler.graph.operators.products import Conv2d, Product
from compiler.graph.opspec import AnyOp, OpSpec, keywords
from compiler.graph.types import TensorType
from compiler.graph.visit import use_counts
from compiler.ir.stmt import Function as Program
from compiler.operators.cpu.conv2d import schedule_packed_conv2d
from compiler.operators.cpu.dense import schedule_packed_dense
from compiler.operators.cpu.generic import cpu_schedule
from compiler.operators.cpu.packed_conv2d import PackedConv2d, packed_conv2d
from compiler.operators.cpu.packed_dense import PackedDense, packed_dense
from compiler.operators.cpu.simd import Simd
from compiler.te import Tensor, placeholder
from compiler.te.build import program_of

__all__ = ["CpuKernel", "cpu_kernel", "weight_of"]

_Packed: TypeAlias = PackedConv2d | PackedDense


@dataclass(frozen=True, slots=True)
class CpuKernel:
    """A kernel, scheduled.

    Attributes
    ----------
    program
        What computes it.
    operands
        Which parameter of the kernel each input of the program is.
    packing
        By parameters whose values the program wants in another order: what brings them there.
    operators
        Of the graph, in order.
    macs
        Useful multiply-accumulates.
    """

    program: Program
    operands: tuple[int, ...]
    packing: Mapping[int, Program]
    operators: tuple[str, ...]
    macs: int


def weight_of(kernel: Function) -> int | None:
    """The parameter that is a layer's weight and nothing else, if packing it pays."""
    found = _layer(kernel)
    return None if found is None else found[1]


def cpu_kernel(kernel: Function, simd: Simd, *, pack: bool) -> CpuKernel:
    """The kernel's program.

    Parameters
    ----------
    pack
        The weight is known before anything runs: it can be packed beforehand.
    """
    inputs = [_placeholder(each.name, each.type) for each in kernel.params]
    outputs = tensors(kernel, inputs)
    operators = tuple(
        let.value.callee.name
        for let in kernel.body.lets
        if isinstance(let.value, Call) and isinstance(let.value.callee, OpSpec)
    )
    program, packing = None, dict[int, Program]()
    if pack and (found := _layer(kernel)) is not None:
        program, packing = _packed(kernel, inputs, *found, simd)
    if program is None:
        program = cpu_schedule(*outputs, simd=simd, inputs=inputs, name=kernel.name).program
    places = {each.name: number for number, each in enumerate(kernel.params)}
    places |= {each.outputs[0].name: number for number, each in packing.items()}
    return CpuKernel(
        replace(program, name=kernel.name),
        tuple(places[each.name] for each in program.inputs),
        packing,
        operators,
        macs_of(outputs),
    )


def _placeholder(name: str, type_: object) -> Tensor:
    assert isinstance(type_, TensorType), "verified: kernels take tensors"
    return placeholder(type_.static_shape(name), type_.dtype, name)


def _layer(kernel: Function) -> tuple[int, int] | None:
    """The line with the kernel's convolution or dense layer, and the parameter that is its weight;
    None if there is none, or the weight is used elsewhere too."""
    counts = use_counts(kernel.body)
    names = [each.name for each in kernel.params]
    for line, let in enumerate(kernel.body.lets):
        call = let.value
        if not isinstance(call, Call) or not isinstance(call.callee, OpSpec):
            continue
        if call.callee.name in _LAYERS and isinstance(call.args[1], Var):
            weight = call.args[1].name
            if weight in names and counts[weight] == 1:
                return line, names.index(weight)
    return None


def _packed(
    kernel: Function, inputs: Sequence[Tensor], line: int, weight: int, simd: Simd
) -> tuple[Program | None, dict[int, Program]]:
    """The kernel with packed weights, and what packs them; None where that does not help."""
    let = kernel.body.lets[line]
    call = let.value
    assert isinstance(call, Call), "found as such"
    assert isinstance(call.callee, OpSpec), "found as such"
    layer = _LAYERS[call.callee.name]
    recorder = _Recorder(call.callee, layer, simd)
    spec = replace(call.callee, compute=recorder.compute)
    lets = list(kernel.body.lets)
    lets[line] = replace(let, value=replace(call, callee=spec))
    changed = replace(kernel, body=replace(kernel.body, lets=tuple(lets)))
    outputs = tensors(changed, inputs)
    made = recorder.made
    if made is None or [each.shape for each in outputs] != [made.output.shape]:
        return None, {}
    try:
        program = layer.schedule(made, outputs[0])
    except ScheduleError:
        return None, {}  # what follows is not computed element by element
    return program, {weight: program_of([made.packing], name=made.packing.name)}


@dataclass(frozen=True, slots=True)
class _Layer:
    """A kind of layer with packed weights."""

    packed: Callable[[str, Sequence[Tensor], Any, Simd], _Packed | None]
    schedule: Callable[[Any, Tensor], Program]


@dataclass
class _Recorder:
    """Computes a layer with packed weights if that can be, and keeps what it made of it."""

    spec: AnyOp
    layer: _Layer
    simd: Simd
    made: _Packed | None = field(default=None)

    def compute(self, name: str, operands: Sequence[Tensor], given: Any) -> tuple[Tensor, ...]:
        self.made = self.layer.packed(name, operands, given, self.simd)
        if self.made is None:
            return self.spec.compute(name, operands, given)
        return (self.made.output,)


def _conv2d(
    name: str, operands: Sequence[Tensor], given: Conv2d, simd: Simd
) -> PackedConv2d | None:
    data, weight, *bias = operands
    return packed_conv2d(
        data, weight, bias=bias[0] if bias else None, name=name, simd=simd, **keywords(given)
    )


def _dense(name: str, operands: Sequence[Tensor], given: Product, simd: Simd) -> PackedDense | None:
    data, weight, *bias = operands
    return packed_dense(
        data, weight, bias=bias[0] if bias else None, name=name, simd=simd, **keywords(given)
    )


_LAYERS: Mapping[str, _Layer] = {
    "conv2d": _Layer(_conv2d, lambda made, output: schedule_packed_conv2d(made, output).program),
    "dense": _Layer(_dense, lambda made, output: schedule_packed_dense(made, output).program),
}
