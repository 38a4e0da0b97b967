"""Layers with packed weights on the CPU: their workload, programs and template."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from tandem.compiler import te
from tandem.compiler.errors import Refusal
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.expressions import placeholders, tensors
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Call, Function, Let, Var
from tandem.compiler.graph.opspec import AnyOp, OpPattern, OpSpec, keywords
from tandem.compiler.graph.passes.compressed_weights import is_widening
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.visit import atoms, use_counts
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.dtypes import UINT8
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.dot_terms import DotTerms
from tandem.compiler.machines.cpu.templates.register_tiles import Tile, TileSpace
from tandem.compiler.plan.pattern import Apply, Match, Operand, Pattern
from tandem.compiler.plan.schedule_template import Arguments, KernelMatch, ScheduleTemplate
from tandem.compiler.plan.space import Bools, Choices, Floats, Space
from tandem.compiler.te import Tensor, placeholder
from tandem.compiler.te.build import program_of, stages
from tandem.compiler.te.knobs import Choice
from tandem.compiler.te.schedule import Schedule

_WORTH_THREADS = 1 << 17
"""Bytes that threads copy together: several times as long as a launch takes with helpers awake. If
they sleep, waking them costs more, but the layer's own loop would have to, else."""
EXCESS = 128
"""What is added to signed data."""


@dataclass(frozen=True, slots=True)
class PackedLayer:
    """A layer in several programs: some pack the weights once, another computes the layer.

    Attributes
    ----------
    data, weight
        The operator's operands. The data may be computed in the kernel: it is padded, say.
    packings
        The packed weights, computed from `weight`, each the output of a program. Behind the weights
        come the excesses of their sums, if the data is shifted (`shift`). None if the layer's
        program packs the weights itself.
    packed
        The packed weights as inputs of the layer's program, beside `data`, or as stages of it.
    padded
        The data with its border, or `data` if it needs none.
    sums, output
        The sums of products in blocks, and the operator's result.
    tile
        The sums that are accumulated in registers.
    dot
        The dot product instruction that computes the sums, if any.
    terms
        The terms that its packed operands have side by side.
    """

    data: Tensor
    weight: Tensor
    packings: tuple[Tensor, ...]
    packed: tuple[Tensor, ...]
    padded: Tensor
    sums: Tensor
    output: Tensor
    tile: Tile
    dot: PrimFunc | None
    terms: DotTerms

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The first inputs of the layer's program."""
        given = (self.data, *(self.packed if self.packings else (self.weight,)))
        return tuple(tensor for tensor in given if tensor.source is None)


@dataclass(frozen=True, slots=True)
class LayerWorkload:
    """A kernel that contains a layer.

    Attributes
    ----------
    line
        The layer's position in the kernel's body.
    weight
        The position of the parameter that is the layer's weight, or has its codes, and has no other
        use.
    """

    kernel: Function
    line: int
    weight: int

    @property
    def call(self) -> Call:
        """The call of the layer's operator."""
        found = self.kernel.body.lets[self.line].value
        assert isinstance(found, Call), "matched"
        return found

    def operand(self, number: int) -> TensorType:
        """The type of an operand of the layer's operator."""
        atom = self.call.args[number]
        type_ = atom.type if isinstance(atom, Constant) else infer(self.kernel)[atom.name]
        assert isinstance(type_, TensorType), "layers take tensors"
        return type_

    @property
    def result(self) -> TensorType:
        """The type of the layer's result."""
        type_ = infer(self.kernel)[self.kernel.body.lets[self.line].name]
        assert isinstance(type_, TensorType), "layers give tensors"
        return type_


def shift(value: Expr) -> Expr:
    """An int8 number plus 128, as an unsigned one.

    Dot products take an unsigned left operand. Sums of products with shifted data exceed those of
    the data by 128 times the sum of the weights, which is known as soon as these are packed.
    """
    return te.cast(value, UINT8) ^ EXCESS


def unpacked_inputs(packings: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Packed weights as inputs of another program."""
    return tuple(placeholder(each.shape, each.dtype, each.name) for each in packings)


def packed_layer_schedule(layer: PackedLayer, output: Tensor, *others: Tensor) -> Schedule:
    """The initial schedule of the output from data and packed weights; stages between the layer's
    sums and the output are inlined, which refuses reductions, but for `others`."""
    schedule = Schedule.of(output, inputs=layer.inputs)
    staying = {layer.padded.name, layer.sums.name, output.name}
    staying |= {tensor.name for tensor in (*layer.packed, *others)}
    for stage in stages([output]):
        if stage.source is not None and stage.name not in staying:
            schedule = schedule.compute_inline(stage.name)
    return schedule


def product_in_tiles(layer: PackedLayer, out: Tensor, *others: Tensor) -> Schedule:
    """`packed_layer_schedule` of a product of matrices: a tile's sums are computed where `out` has
    them, lanes of `l` in each row `i`. Other axes of `out` come first, then `block` and `row`."""
    assert out.source is not None
    *stack, i, j = (axis.name for axis in out.source.axes)
    return (
        packed_layer_schedule(layer, out, *others)
        .split(out.name, j, layer.tile.channels, ("block", "l"))
        .split(out.name, i, layer.tile.columns, ("row", "i"))
        .reorder(out.name, *stack, "block", "row", "i", "l")
        .compute_at(layer.sums.name, out.name, "row")
        .unroll(out.name, "i")
        .vectorize(out.name, "l")
    )


def product_on_threads(schedule: Schedule, out: Tensor) -> Schedule:
    """The schedule of `product_in_tiles` with blocks of columns of all products distributed over
    threads."""
    assert out.source is not None
    outer = "block"
    for axis in reversed(out.source.axes[:-2]):
        schedule = schedule.fuse(out.name, axis.name, outer, f"{axis.name}_{outer}")
        outer = f"{axis.name}_{outer}"
    return schedule.parallel(out.name, outer)


def copy_on_threads(schedule: Schedule, stage: Tensor, outer: str, inner: str) -> Schedule:
    """Fuses two outer loops of a copy to `plane`, and distributes them over threads if there is
    enough to copy."""
    schedule = schedule.fuse(stage.name, outer, inner, "plane")
    worthwhile = stage.size * stage.dtype.numpy.itemsize >= _WORTH_THREADS
    return schedule.parallel(stage.name, "plane") if worthwhile else schedule


def carry_in_registers(
    schedule: Schedule,
    sums: str,
    terms: Sequence[str],
    pixels: Sequence[str],
    dot: PrimFunc | None,
    weights: str = "",
) -> Schedule:
    """Accumulates a tile's sums in registers: reduction loops around an unrolled tile, with a
    vector of channels for each pixel.

    Parameters
    ----------
    sums
        The stage, already computed at the loop over tiles. Its axis `l` has the tile's channels.
    terms, pixels
        The stage's reduction axes, without those of dot products; and the axes that are unrolled:
        dot products that share data, and a tile's pixels.
    dot
        The dot product instruction to use, if any.
    weights
        A stage that each iteration of the innermost term computes first.
    """
    schedule = schedule.set_scope(sums, Scope.LOCAL)
    if dot is None:
        schedule = schedule.reorder(sums, *terms, *pixels, "l").vectorize(sums, "l")
    else:
        schedule = schedule.split(sums, "l", dot.outputs[0].size, ("vector", "lane"))
        schedule = schedule.reorder(sums, *terms, *pixels, "vector", "lane", "k")
        schedule = schedule.unroll(sums, "vector")
    if weights:
        schedule = schedule.compute_at(weights, sums, terms[-1])
    for axis in pixels:
        schedule = schedule.unroll(sums, axis)
    schedule = schedule.decompose_reduction(sums, terms[0])
    if dot is None:
        return schedule
    return schedule.vectorize(f"{sums}_init", "lane").tensorize(sums, "lane", dot)


_CODES, _SCALES, _ZEROS = (Operand(name, constant=True) for name in ("codes", "scales", "zeros"))
COMPRESSED = Apply("widen", (_CODES, _SCALES)), Apply("widen", (_CODES,))
"""Patterns of compressed weights."""
BLOCKED = (
    Apply("dequantise_blocks", (_CODES, _SCALES)),
    Apply("dequantise_blocks", (_CODES, _SCALES, _ZEROS)),
)
"""Patterns of real weights of few bits."""


def layer_patterns(
    operator: str,
    rank: int,
    weights: Sequence[Pattern] = (Operand("weight", constant=True), *COMPRESSED),
) -> tuple[Apply, ...]:
    """Patterns of an operator on data of a rank and a constant weight, with or without bias."""
    data = Operand("data", ranks=(rank,), constant=None)
    bias = Operand("bias", constant=None)
    return tuple(
        Apply(operator, (data, weight, *others)) for weight in weights for others in ((), (bias,))
    )


def widening_of(match: Match) -> Call:
    """The call in a match that computes the weight from codes."""
    return next(
        let.value for let in match.lets if isinstance(let.value, Call) and is_widening(let.value)
    )


def weight_parameters(found: KernelMatch) -> tuple[int, ...]:
    """The positions of the parameters that hold a layer's weight: one, or its codes, scales and
    zero points.

    Raises
    ------
    Refusal
        The weight is part of the kernel, or is used elsewhere too.
    """
    kernel, layer = found.kernel, found.match.lets[-1]
    assert isinstance(layer.value, Call), "matched"
    read = [layer.value.args[1]]
    if "codes" in found.match.operands:
        read = [*widening_of(found.match).args]
    counts, names = use_counts(kernel.body), [param.name for param in kernel.params]
    positions = []
    for atom in read:
        if not isinstance(atom, Var) or atom.name not in names:
            raise Refusal("the weight is a constant of one element")
        if counts[atom.name] != 1:
            raise Refusal("the weight is used elsewhere too")
        positions.append(names.index(atom.name))
    return tuple(positions)


class LayerOnCpu(ScheduleTemplate[LayerWorkload, CpuTarget]):
    """A template of a convolution or dense layer, with weights packed in the order of use.

    The knobs are the sizes of a register tile, which also determine the layout of packed weights.

    Attributes
    ----------
    packed
        Returns the layer of data and weight, with `bias`, `name`, `simd`, `options` and the
        operator's attributes by keyword; None if packed weights do not help.
    scheduled
        Returns the schedule of the second program, from the layer and the kernel's output.
    prefetches
        Whether the second program prefetches packed weights, which it reads in order.
    """

    prefetches: ClassVar[bool] = True
    packed: ClassVar[Callable[..., PackedLayer | None]]
    scheduled: ClassVar[Callable[..., Schedule]]

    def bind(self, found: KernelMatch, machine: CpuTarget) -> tuple[LayerWorkload, Arguments]:
        kernel, layer = found.kernel, found.match.lets[-1]
        weight, *_ = weight_parameters(found)
        element_by_element(kernel, layer)
        workload = LayerWorkload(kernel, kernel.body.lets.index(layer), weight)
        self.check(workload, machine)
        return workload, Arguments()

    def check(self, workload: LayerWorkload, machine: CpuTarget) -> None:
        """Raise `Refusal` if the template does not suit a layer."""
        packed, output = self.layer(workload, None, machine)
        if packed.dot and packed.output.shape[1] == 1 and output is not packed.output:
            # An operator that broadcasts reads channel 0 only, which would cut a dot product's
            # vector of channels.
            raise Refusal("a dot product computes several channels, and this layer has one")

    @abstractmethod
    def tiled_extents(self, workload: LayerWorkload) -> tuple[int, int, int]:
        """Extents of the output that tiles divide: channels, rows and columns."""

    def space(self, workload: LayerWorkload, machine: CpuTarget) -> Space:
        return self._tiles(workload, machine).knobs

    def fits(self, workload: LayerWorkload, choices: Choices, machine: CpuTarget) -> Bools:
        return self._tiles(workload, machine).fits(choices)

    def estimate(self, workload: LayerWorkload, choices: Choices, machine: CpuTarget) -> Floats:
        """The cost of each register tile, by `TileSpace.costs`."""
        return self._tiles(workload, machine).costs(choices)

    def _tiles(self, workload: LayerWorkload, machine: CpuTarget) -> TileSpace:
        simd = Simd.of(machine)
        left, right = (workload.operand(number).dtype for number in (0, 1))
        dot = simd.layer_dot(left, right, workload.result.dtype)
        extents = self.tiled_extents(workload)
        return TileSpace.of(extents, workload.result.dtype, simd, machine.threads, dot)

    def options(self, choice: Choice) -> dict[str, Any]:
        """The arguments of `packed` that a choice gives."""
        return {"tile": Tile.of(choice)}

    def layer(
        self, workload: LayerWorkload, choice: Choice | None, machine: CpuTarget
    ) -> tuple[PackedLayer, Tensor]:
        """The layer, and the kernel's output that is computed from the layer; None is a default
        choice.

        Raises
        ------
        Refusal
            Packed weights do not help.
        """
        kernel = workload.kernel
        call = workload.call
        assert isinstance(call.callee, OpSpec), "matched"
        made: list[PackedLayer] = []

        def compute(name: str, operands: Sequence[Tensor], given: Any) -> tuple[Tensor, ...]:
            data, weight, *bias = operands
            layer = self.packed(
                data,
                weight,
                bias=bias[0] if bias else None,
                name=name,
                simd=Simd.of(machine),
                **(self.options(choice) if choice else {}),
                **keywords(given),
            )
            if layer is None:
                raise Refusal(f"packed weights do not help {name}")
            made.append(layer)
            return (layer.output,)

        spec: AnyOp = replace(call.callee, compute=compute)
        lets = list(kernel.body.lets)
        lets[workload.line] = replace(lets[workload.line], value=replace(call, callee=spec))
        changed = replace(kernel, body=replace(kernel.body, lets=tuple(lets)))
        (output,) = tensors(changed, placeholders(kernel))
        return made[0], output

    def schedule(self, workload: LayerWorkload, choice: Choice, machine: CpuTarget) -> Schedule:
        return self.scheduled(*self.layer(workload, choice, machine))

    def packings(
        self, workload: LayerWorkload, choice: Choice, machine: CpuTarget
    ) -> tuple[PrimFunc, ...]:
        """The programs that pack the weight, named as their outputs."""
        layer, _ = self.layer(workload, choice, machine)
        return tuple(program_of([each], name=each.name) for each in layer.packings)


def element_by_element(kernel: Function, layer: Let) -> None:
    """Raise `Refusal` if an operator after the layer is not elementwise in the same shape."""
    made, types = {layer.name}, infer(kernel)
    for let in kernel.body.lets:
        if made & {each.name for each in atoms(let.value) if isinstance(each, Var)}:
            match let.value:
                case Call(callee=OpSpec(pattern=pattern)) if (
                    pattern <= OpPattern.BROADCAST
                    and _shape(types[let.name]) == _shape(types[layer.name])
                ):
                    made.add(let.name)
                case Call(callee=callee):
                    raise Refusal(f"{callee.name} does not follow it element by element")
                case _:
                    raise Refusal("the kernel gives several values")


def _shape(type_: Type) -> object:
    return type_.shape if isinstance(type_, TensorType) else None
