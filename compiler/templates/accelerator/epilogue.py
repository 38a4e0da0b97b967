"""What follows sums on the accelerator: passes of the ALU, their operands, and how they are
scheduled.

Their structure is a part of a workload. Their numbers are arguments of its program: immediates,
values for each channel in ACC, tensors that are added.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from compiler import te
from compiler.errors import QuantisationError, Unsupported
from compiler.graph.operators.quantised import Requantise
from compiler.intrinsics.accelerator import alu_value, immediate_argument, two_operands
from compiler.intrinsics.scopes import OnChip
from compiler.ir.buffer import Scope
from compiler.ir.dtypes import INT8, INT32, DType
from compiler.ir.expr import Expr
from compiler.requantisation import AluStep, RequantSpec, ResidualSpec
from compiler.te import Tensor, compute, placeholder
from compiler.te.schedule import Sketch
from compiler.templates.accelerator.packing import pack_channels
from compiler.templates.pattern import Apply, Match, Operand
from compiler.templates.template import Arguments, KernelMatch
from hw.config import HardwareConfig
from hw.operations import AluOp

__all__ = [
    "AluPass",
    "Epilogue",
    "Kind",
    "in_accumulators",
    "requantisation",
    "requantise_passes",
    "requantise_pattern",
    "structure",
]


class Kind(Enum):
    """Where the second operand of a pass lies."""

    IMMEDIATE = "immediate"
    """In the instruction."""
    CHANNEL = "channel"
    """In ACC, a number for each channel: int32[O / L, B, L]."""
    ELEMENT = "element"
    """In ACC, a number for each element: packed data of the output's shape."""


@dataclass(frozen=True, slots=True)
class AluPass:
    """An operation on every accumulator.

    Attributes
    ----------
    operand
        What the program calls it.
    dtype
        Of an operand for each element, in DRAM: int8 or int32.
    before
        What is done to an operand for each element first: say, MUL where its scale differs.
    """

    op: AluOp
    operand: str
    kind: Kind = Kind.IMMEDIATE
    dtype: DType = INT32
    before: tuple[AluPass, ...] = ()


@dataclass(frozen=True, slots=True)
class Epilogue:
    """Passes after the stage `source`, and the program's output, `out`.

    Stages: one a pass, `out_0_add` and so on; before one with an operand for each element,
    `out_0_add_operand` and what is done to that, `out_0_add_operand_0_mul` and so on.
    """

    passes: tuple[AluPass, ...]

    @property
    def channel_operands(self) -> tuple[str, ...]:
        """Operands with a number for each channel."""
        found = (step.operand for _, step in self._all if step.kind is Kind.CHANNEL)
        return tuple(dict.fromkeys(found))

    @property
    def element_types(self) -> tuple[DType, ...]:
        """The types in DRAM of operands with a number for each element."""
        return tuple(step.dtype for _, step in self._all if step.kind is Kind.ELEMENT)

    @property
    def element_operands(self) -> int:
        """How many operands have a number for each element."""
        return len(self.element_types)

    @property
    def immediate_passes(self) -> int:
        """Passes with an operand in the instruction."""
        return sum(step.kind is Kind.IMMEDIATE for _, step in self._all)

    @property
    def tensor_passes(self) -> int:
        """Passes with an operand in ACC."""
        return sum(step.kind is not Kind.IMMEDIATE for _, step in self._all)

    def compute(self, source: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The output, int8 of the low 8 bits after all passes, and the operands that are read.

        Parameters
        ----------
        source
            int32, packed: [N, O / L, ..., B, L].
        """
        operands: dict[str, Tensor] = {}
        last = _passed(source, self.passes, "out", operands)
        output = compute(source.shape, lambda *at: te.cast(last[at], INT8), "out", _axes(source))
        return output, tuple(operands.values())

    def place(self, sketch: Sketch, resident: str | None = None) -> Sketch:
        """Each pass at the output's loop `thread`, its operand with it.

        Operands for each element are loaded with the tile that needs them; those for each channel
        once, in front of everything, or with the tile as well where the knob `resident` is 0.
        """
        for stage, _ in reversed(list(_stages(self.passes, "out"))):
            sketch = sketch.set_scope(stage, OnChip.ACC).compute_at(stage, "out", "thread")
        readers: dict[str, list[str]] = {}
        for stage, step in self._all:
            if step.kind is Kind.CHANNEL:
                readers.setdefault(step.operand, []).append(stage)
        for name, stages in readers.items():
            copy = f"out_{name}"
            sketch = sketch.cache_read(name, tuple(stages), OnChip.ACC, copy)
            if resident is not None:
                moved = Sketch().compute_at(copy, "out", "thread")
                sketch = sketch.when(resident, (0,), moved)
        return sketch

    def tensorize(self, sketch: Sketch, config: HardwareConfig) -> Sketch:
        """Each pass by its instruction. Comes last: then loops stay as they are."""
        for stage, step in self._all:
            make = immediate_argument if step.kind is Kind.IMMEDIATE else two_operands
            sketch = sketch.tensorize(stage, "b", make(config, step.op).function)
        return sketch

    @property
    def _all(self) -> list[tuple[str, AluPass]]:
        """The passes and those on their operands, in their order, by the names of their stages."""
        stages = _stages(self.passes, "out")
        return [(name, step) for name, step in stages if step is not None]


def _named(passes: Sequence[AluPass], prefix: str) -> Iterator[tuple[str, AluPass]]:
    for number, step in enumerate(passes):
        yield f"{prefix}_{number}_{step.op.name.lower()}", step


def _stages(passes: Sequence[AluPass], prefix: str) -> Iterator[tuple[str, AluPass | None]]:
    """All stages that make accumulators, each after what it reads: passes, and LOADs of operands
    for each element."""
    for name, step in _named(passes, prefix):
        if step.kind is Kind.ELEMENT:
            yield f"{name}_operand", None
            yield from _stages(step.before, f"{name}_operand")
        yield name, step


def _passed(
    value: Tensor, passes: Sequence[AluPass], prefix: str, operands: dict[str, Tensor]
) -> Tensor:
    """The value after all passes; `operands` gets the tensors that they read."""
    for name, step in _named(passes, prefix):
        value = _one(value, name, step, operands)
    return value


def _one(value: Tensor, name: str, step: AluPass, operands: dict[str, Tensor]) -> Tensor:
    axes = _axes(value)
    match step.kind:
        case Kind.IMMEDIATE:
            shape: tuple[int, ...] = ()
        case Kind.CHANNEL:
            shape = (value.shape[1], *value.shape[-2:])
        case Kind.ELEMENT:
            shape = value.shape
    scope = OnChip.IMM if step.kind is Kind.IMMEDIATE else Scope.GLOBAL
    tensor = placeholder(shape, step.dtype, step.operand, scope=scope)
    operand = operands.setdefault(step.operand, tensor)
    if step.kind is Kind.ELEMENT:
        loaded = in_accumulators(operand, f"{name}_operand", axes)
        operand = _passed(loaded, step.before, f"{name}_operand", operands)

    def element(*at: Expr) -> Expr:
        places = {Kind.IMMEDIATE: (), Kind.CHANNEL: (at[1], *at[-2:]), Kind.ELEMENT: at}
        return alu_value(step.op, value[at], operand[places[step.kind]])

    return compute(value.shape, element, name, axes)


def _axes(tensor: Tensor) -> tuple[str, ...]:
    """The axes' names of a tensor that is computed."""
    assert tensor.source is not None
    return tuple(each.name for each in tensor.source.axes)


def in_accumulators(tensor: Tensor, name: str, axes: Sequence[str]) -> Tensor:
    """int8 or int32, as int32: what a LOAD into ACC gives."""

    def element(*at: Expr) -> Expr:
        return tensor[at] if tensor.dtype == INT32 else te.cast(tensor[at], INT32)

    return compute(tensor.shape, element, name, axes)


# Requantisation -----------------------------------------------------------------------------------


def requantise_pattern(sums: Apply, skip_rank: int | None = None) -> Apply:
    """The pattern of sums that are requantised, with a tensor of so many axes that is skipped to
    them, if any is."""
    operands = (sums, Operand("multiplier", constant=True), Operand("addend", constant=True))
    if skip_rank is None:
        return Apply("requantise", operands)
    skip = Operand("skip", INT8, (skip_rank,)), Operand("factor", constant=True)
    return Apply("requantise_add", (*operands, *skip))


def requantise_passes(
    found: KernelMatch, largest: int, config: HardwareConfig
) -> tuple[tuple[AluPass, ...], Arguments]:
    """The passes and numbers of the requantisation that ends a match: `requantisation`, which has
    the parameters, and `structure`."""
    return structure(requantisation(found.match, largest), found.result_shape[1], config)


def requantisation(match: Match, largest: int) -> RequantSpec | ResidualSpec:
    """What an operator `requantise` or `requantise_add` at the end of a match does to sums.

    Parameters
    ----------
    largest
        The greatest absolute value of a sum.

    Raises
    ------
    Unsupported
        The base instruction set cannot do it exactly in 32 bits.
    """
    residual = "skip" in match.operands
    given = match.attributes("requantise_add" if residual else "requantise", Requantise)
    multiplier, addend = (_per_channel(match, each) for each in ("multiplier", "addend"))
    limits = given.shift, given.low, given.high, largest
    try:
        if not residual:
            return RequantSpec(multiplier, addend, *limits)
        factor = int(match.constant("factor").array.item())
        return ResidualSpec(multiplier, addend, factor, *limits)
    except QuantisationError as error:
        raise Unsupported(f"not exact in 32 bits: {error}") from error


def structure(
    spec: RequantSpec | ResidualSpec, channels: int, config: HardwareConfig
) -> tuple[tuple[AluPass, ...], Arguments]:
    """The passes of the base instruction set that do what `spec` says, and their numbers.

    Parameters
    ----------
    channels
        Output channels; where `spec` has a number for each, as many. They are padded to blocks.
    """
    if isinstance(spec, RequantSpec):
        return _passes(spec.steps(), channels, config, "operand")
    steps = spec.steps()
    sums, skips, totals = (
        _passes(each, channels, config, f"operand_{part}")
        for part, each in (("sum", steps.acc), ("skip", steps.skip), ("total", steps.total))
    )
    added = AluPass(AluOp.ADD, "skip", Kind.ELEMENT, INT8, skips[0])
    parts = [each for _, each in (sums, skips, totals)]
    return (*sums[0], added, *totals[0]), Arguments(
        {name: value for each in parts for name, value in each.tensors.items()},
        {name: value for each in parts for name, value in each.immediates.items()},
    )


def _passes(
    steps: Sequence[AluStep], channels: int, config: HardwareConfig, prefix: str
) -> tuple[tuple[AluPass, ...], Arguments]:
    passes: list[AluPass] = []
    tensors: dict[str, NDArray[np.generic]] = {}
    immediates: dict[str, int] = {}
    for number, step in enumerate(steps):
        name = f"{prefix}_{number}"
        if isinstance(step.operand, int):
            immediates[name] = step.operand
            passes.append(AluPass(step.op, name))
        else:
            values = np.broadcast_to(np.array(step.operand, np.int32), (channels,)).copy()
            tensors[name] = pack_channels(values, config)
            passes.append(AluPass(step.op, name, Kind.CHANNEL))
    return tuple(passes), Arguments(tensors, immediates)


def _per_channel(match: Match, operand: str) -> int | tuple[int, ...]:
    flat = match.constant(operand).array.reshape(-1).tolist()
    return int(flat[0]) if len(flat) == 1 else tuple(int(each) for each in flat)
