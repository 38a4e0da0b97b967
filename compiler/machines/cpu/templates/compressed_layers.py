"""The template of dense layers whose weights stay compressed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tandem.compiler.errors import Refusal
from tandem.compiler.graph.expressions import tensors
from tandem.compiler.graph.nodes import Atom, Call, Var
from tandem.compiler.graph.operators.compressed import Widen
from tandem.compiler.graph.opspec import AnyOp, OpSpec, keywords
from tandem.compiler.graph.visit import use_counts
from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.compressed_dense import (
    CompressedDense,
    CompressedWeight,
    compressed_dense,
    schedule_compressed_dense,
)
from tandem.compiler.machines.cpu.templates.layer import (
    LayerOnCpu,
    LayerWorkload,
    PackedLayer,
    element_by_element,
    placeholders,
)
from tandem.compiler.machines.cpu.templates.register_tiles import TileSpace
from tandem.compiler.plan.pattern import Apply, Match, Operand
from tandem.compiler.plan.schedule_template import Arguments, KernelMatch
from tandem.compiler.te import Tensor
from tandem.compiler.te.knobs import Choice

_DATA = Operand("data", ranks=(2,), constant=None)
_CODES, _SCALES = Operand("codes", constant=True), Operand("scales", constant=True)
_WEIGHTS = Apply("widen", (_CODES, _SCALES)), Apply("widen", (_CODES,))
_BIAS = Operand("bias", constant=None)


@dataclass(frozen=True, slots=True)
class CompressedWorkload(LayerWorkload):
    """A kernel that contains a layer of compressed weights; `weight` is the position of the codes.

    Attributes
    ----------
    widening
        The position of `widen` in the kernel's body.
    """

    widening: int

    @property
    def parameters(self) -> tuple[int, ...]:
        """The positions of the codes, and of the scales where there are any, among parameters."""
        names = [param.name for param in self.kernel.params]
        call = self.kernel.body.lets[self.widening].value
        assert isinstance(call, Call), "matched"
        return tuple(names.index(_variable(arg)) for arg in call.args)

    @property
    def attributes(self) -> Widen:
        """The table, and the groups."""
        call = self.kernel.body.lets[self.widening].value
        assert isinstance(call, Call), "matched"
        assert isinstance(call.attributes, Widen), "matched"
        return call.attributes


class CompressedDenseOnCpu(LayerOnCpu):
    """A dense layer with constant compressed weights, whose codes are packed once."""

    name = "compressed_dense"
    patterns = tuple(
        Apply("dense", (_DATA, weights, *bias)) for weights in _WEIGHTS for bias in ((), (_BIAS,))
    )
    scheduled = staticmethod(schedule_compressed_dense)

    def bind(self, found: KernelMatch, machine: CpuTarget) -> tuple[LayerWorkload, Arguments]:
        kernel, match = found.kernel, found.match
        widening, layer = match.let("widen"), match.lets[-1]
        _refuse_axis_and_products(match)
        counts, names = use_counts(kernel.body), {param.name for param in kernel.params}
        assert isinstance(widening.value, Call), "matched"
        for arg in widening.value.args:
            if not isinstance(arg, Var) or arg.name not in names:
                raise Refusal("the weights are constants of one element")
            if counts[arg.name] != 1:
                raise Refusal("the codes or scales are used elsewhere too")
        element_by_element(kernel, layer)
        lets, params = kernel.body.lets, [param.name for param in kernel.params]
        codes = params.index(_variable(widening.value.args[0]))
        workload = CompressedWorkload(kernel, lets.index(layer), codes, lets.index(widening))
        self.check(workload, machine)
        return workload, Arguments()

    def tiled_extents(self, workload: LayerWorkload) -> tuple[int, int, int]:
        rows, channels = workload.result.static_shape("out")
        return channels, 1, rows

    def _tiles(self, workload: LayerWorkload, machine: CpuTarget) -> TileSpace:
        # Widened weights and the sums of groups take as many registers again.
        space = super()._tiles(workload, machine)
        return replace(space, registers=max(space.registers // 2, 1))

    def layer(
        self, workload: LayerWorkload, choice: Choice | None, machine: CpuTarget
    ) -> tuple[PackedLayer, Tensor]:
        assert isinstance(workload, CompressedWorkload), "a workload of this template"
        kernel, call, given = workload.kernel, workload.call, workload.attributes
        assert isinstance(call.callee, OpSpec), "matched"
        inputs = placeholders(kernel)
        codes, *scales = (inputs[number] for number in workload.parameters)
        made: list[CompressedDense] = []

        def compute(name: str, operands: Sequence[Tensor], values: Any) -> tuple[Tensor, ...]:
            data, widened, *bias = operands
            group = given.group if scales else codes.shape[1]
            weight = CompressedWeight(
                codes, scales[0] if scales else None, given.table, group, widened
            )
            layer = compressed_dense(
                data,
                weight,
                simd=Simd.of(machine),
                bias=bias[0] if bias else None,
                name=name,
                **(self.options(choice) if choice else {}),
                **keywords(values),
            )
            made.append(layer)
            return (layer.output,)

        spec: AnyOp = replace(call.callee, compute=compute)
        lets = list(kernel.body.lets)
        lets[workload.line] = replace(lets[workload.line], value=replace(call, callee=spec))
        changed = replace(kernel, body=replace(kernel.body, lets=tuple(lets)))
        (output,) = tensors(changed, inputs)
        return made[0], output


def _variable(atom: Atom) -> str:
    assert isinstance(atom, Var), "bound to a parameter"
    return atom.name


def _refuse_axis_and_products(match: Match) -> None:
    """Raise `Refusal` unless groups lie along the inputs, and products with scales are int8."""
    if "scales" not in match.operands:
        return
    given = match.attributes("widen", Widen)
    codes, scales = match.constant("codes").array, match.constant("scales").array
    if given.axis % codes.ndim != 1:
        raise Refusal(f"groups along axis {given.axis}; they lie along the inputs, axis 1")
    table = np.array(given.table, np.int32)
    largest = int(scales.astype(np.uint8).max(initial=0))
    if INT8.low <= table.min() * largest and table.max() * largest <= INT8.high:
        return
    for row, (some, factors) in enumerate(zip(codes, scales, strict=True)):
        spread = np.repeat(factors.astype(np.int32), given.group)[: some.size]
        products = table[some.astype(np.uint8)] * spread
        if products.size and not INT8.low <= products.min() <= products.max() <= INT8.high:
            raise Refusal(f"output {row} has a product of an entry and a scale that is no int8")
