"""Expressions that the array computes: a sum of products, and what follows its elements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from tandem.compiler.errors import Refusal
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.expr import Load, Var
from tandem.compiler.ir.linear import linear
from tandem.compiler.ir.stmt import Block, IterKind, PrimFunc
from tandem.compiler.ir.visit import blocks, reads, variables
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.sketches.matching import (
    MatchedPass,
    MatchedSum,
    block_called,
    matched_pass,
    matched_sums,
    names_of,
)
from tandem.compiler.machines.accelerator.sketches.rows import without_gaps
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import allocated, read_by
from tandem.compiler.tune.sketches.computation import Computation


@dataclass(frozen=True, slots=True, eq=False)
class ArrayProduct:
    """What a sketch of a product is made of.

    Attributes
    ----------
    start
        The schedule that a sketch begins with.
    sums
        The stage of sums, and its instructions.
    passes
        The stages between the sums and the result, in order.
    result
        The stage of the result, in DRAM.
    axes
        The axes of the sums and the result that have tiles, with their extents.
    single
        Their other axes, but the two of an accumulator: of one iteration.
    accumulator
        The two axes of an accumulator.
    of_image, of_weight
        The axes of `axes` along which the image, and the weights, are read.
    steps
        The axis of terms whose parts are loaded one after the other.
    taps
        The other axes of terms, but that of an instruction.
    extents
        Of all axes of the sums.
    """

    start: Schedule
    sums: MatchedSum
    passes: tuple[MatchedPass, ...]
    result: str
    axes: Mapping[str, int]
    single: tuple[str, ...]
    accumulator: tuple[str, str]
    of_image: tuple[str, ...]
    of_weight: tuple[str, ...]
    steps: str
    taps: tuple[str, ...]
    extents: Mapping[str, int]

    @property
    def inner(self) -> tuple[str, ...]:
        """All axes of the result but those of an accumulator, in order."""
        return tuple(each for each in self.extents if each in self.axes or each in self.single)

    @property
    def block(self) -> Block:
        """The block of the sums."""
        return block_called(self.start.program, self.sums.stage)

    @property
    def padded(self) -> bool:
        """Whether the image is a stage, of padding."""
        return self.sums.image in allocated(self.start.program.body)

    @property
    def weight_axis(self) -> str | None:
        """The axis along which weights alone are read, if there is one; one with tiles, if
        possible."""
        only = [axis for axis in self.inner if axis in self.of_weight and axis not in self.of_image]
        return next((axis for axis in only if axis in self.axes), only[0] if only else None)

    def buffer(self, name: str) -> Buffer:
        """An input, or a buffer of the program's own."""
        known = {each.name: each for each in self.start.program.inputs}
        return {**known, **allocated(self.start.program.body)}[name]

    def loads(self, name: str) -> Load:
        """The load of an operand in the sums."""
        return next(load for load in reads(self.block) if load.buffer.name == name)


@lru_cache(maxsize=64)
def product_of(computation: Computation, machine: AcceleratorTarget) -> ArrayProduct:
    """The product of a computation in blocks. Raises as `product_in`."""
    return product_in(computation.start(), machine)


def product_in(start: Schedule, machine: AcceleratorTarget) -> ArrayProduct:
    """The product of expressions in blocks, which a schedule begins with.

    Raises
    ------
    Refusal
        No instruction computes its sums, or one of the stages around them; says which.
    """
    program = start.program
    found = blocks(program.body)
    reductions = [block for block in found if block.init is not None]
    if len(reductions) != 1:
        raise Refusal(f"the array computes one sum of products: there are {len(reductions)} sums")
    sums = _sums(start, reductions[0], machine)
    start, image = without_gaps(start, sums.stage, sums.image)
    program, sums = start.program, replace(sums, image=image)
    found = blocks(program.body)
    (output,) = program.outputs
    spatial = _spatial(reductions[0])
    passes = []
    for block in found:
        if block.name in (sums.stage, sums.image):
            continue
        if block.init is not None or _spatial(block) != spatial:
            raise Refusal(f"{block.name} is not computed element by element from the sums")
        if block.name == output.name:
            continue
        one = matched_pass(start, block, machine)
        if one is None:
            raise Refusal(f"no instruction of {machine.config.name} computes {block.name}")
        passes.append(one)
    return _product(start, sums, tuple(passes), output.name)


def _sums(start: Schedule, block: Block, machine: AcceleratorTarget) -> MatchedSum:
    inputs = {each.name for each in start.program.inputs}
    for found in matched_sums(start, block, machine):
        if found.weight in inputs and (
            found.image in inputs or _reads_inputs(start.program, found.image)
        ):
            return found
    raise Refusal(f"no instruction of {machine.config.name} computes the sums of {block.name}")


def _reads_inputs(program: PrimFunc, stage: str) -> bool:
    """Whether a stage reads inputs alone, and the sums alone read it."""
    block = block_called(program, stage)
    inputs = {each.name for each in program.inputs}
    readers = [each for each in blocks(program.body) if stage in read_by(each)]
    return block.init is None and read_by(block) <= inputs and len(readers) == 1


def _product(
    start: Schedule, sums: MatchedSum, passes: tuple[MatchedPass, ...], result: str
) -> ArrayProduct:
    block = block_called(start.program, sums.stage)
    spatial, terms = names_of(block, IterKind.SPATIAL), names_of(block, IterKind.REDUCE)
    extents = {axis.var.name: axis.extent for axis in block.iters}
    outer = spatial[:-2]
    if not outer:
        raise Refusal(f"{sums.stage} has no axes but those of an accumulator")
    long = {axis: extents[axis] for axis in outer if extents[axis] > 1}
    axes = long or {outer[-1]: extents[outer[-1]]}
    by_buffer = {
        name: frozenset(
            axis
            for load in reads(block)
            if load.buffer.name == name
            for index in load.indices
            for axis in variables(index)
        )
        for name in (sums.image, sums.weight)
    }
    others = [axis for axis in terms if axis != sums.term]
    if not others:
        raise Refusal(f"{sums.stage} has no terms but those of an instruction")
    image = next(load for load in reads(block) if load.buffer.name == sums.image)
    alone = [axis for axis in others if Var(axis) in image.indices]
    steps = max(alone or others, key=lambda axis: extents[axis])
    return ArrayProduct(
        start=start,
        sums=sums,
        passes=passes,
        result=result,
        axes=axes,
        single=tuple(axis for axis in outer if axis not in axes),
        accumulator=(spatial[-2], spatial[-1]),
        of_image=tuple(axis for axis in outer if axis in by_buffer[sums.image]),
        of_weight=tuple(axis for axis in outer if axis in by_buffer[sums.weight]),
        steps=steps,
        taps=tuple(axis for axis in others if axis != steps),
        extents=extents,
    )


def _spatial(block: Block) -> tuple[tuple[str, int], ...]:
    return tuple((axis.var.name, axis.extent) for axis in block.axes(IterKind.SPATIAL))


def box(product: ArrayProduct, buffer: str) -> tuple[tuple[tuple[tuple[str, int], ...], int], ...]:
    """What an element-wise box of an operand follows from: for each of its dimensions but the two
    of an element, the axes with their factors, and its extent.

    Raises
    ------
    Refusal
        An index of the operand is no sum of axes.
    """
    load = product.loads(buffer)
    found = []
    for index, extent in zip(load.indices[:-2], load.buffer.shape[:-2], strict=True):
        terms = []
        for atom, factor in linear(index).terms:
            if not isinstance(atom, Var):
                raise Refusal(f"{buffer} is read at more than sums of axes")
            terms.append((atom.name, abs(factor)))
        found.append((tuple(terms), extent))
    return tuple(found)
