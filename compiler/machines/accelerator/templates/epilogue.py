"""Passes over the accelerator's sums, with their operands and their schedule.

The sequence of passes is part of a workload. The numbers are arguments of the program: immediates,
per-channel values in ACC or PAR, and residual tensors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias, TypeVar

import numpy as np

from tandem.compiler import te
from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.dtypes import INT8, INT32, INT64, DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.machines.accelerator.intrinsics.base import (
    TensorInstruction,
    alu_binary,
    alu_value,
    immediate_argument,
)
from tandem.compiler.machines.accelerator.intrinsics.custom import (
    custom_binary,
    custom_unary,
    custom_value,
)
from tandem.compiler.machines.accelerator.intrinsics.extensions import (
    requantise,
    requantise_add,
    requantised,
)
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.templates.parameter_passes import (
    HIGH,
    LOW,
    PARAMETERS,
    SCALE,
    RequantisePass,
)
from tandem.compiler.plan.record_fields import UNLESS_NONE
from tandem.compiler.plan.space import Ints
from tandem.compiler.te import Tensor, compute, placeholder
from tandem.compiler.te.schedule import Sketch
from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import AnyOperation
from tandem.hw.operations import AluOp


class OperandKind(Enum):
    """The place of a pass's second operand."""

    IMMEDIATE = "immediate"
    """In the instruction."""
    CHANNEL = "channel"
    """In ACC, a value for each channel: int32[O / L, B, L]."""
    ELEMENT = "element"
    """In ACC, a value for each element: packed data of the output's shape."""
    NONE = "none"
    """There is none."""


@dataclass(frozen=True, slots=True)
class AluPass:
    """An ALU operation on every accumulator of a tile.

    Attributes
    ----------
    operand
        Name of the second operand in the program.
    dtype
        Type in DRAM of an operand for each element: int8 or int32.
    before
        Passes over an element-wise operand before its use, such as a MUL for its scale.
    parameters
        Name of the immediate that holds the parameters of a machine's own operation.
    """

    op: AnyOperation
    operand: str
    kind: OperandKind = OperandKind.IMMEDIATE
    dtype: DType = INT32
    before: tuple[AluPass, ...] = ()
    parameters: str | None = field(default=None, repr=False, metadata=UNLESS_NONE)

    @property
    def name(self) -> str:
        """The name of the pass in the names of its stages."""
        return self.op.name.lower()


EpiloguePass: TypeAlias = AluPass | RequantisePass
P = TypeVar("P", bound=EpiloguePass)


@dataclass(frozen=True, slots=True)
class Epilogue:
    """A sequence of passes after the stage `source`, up to the program's output, `out`.

    Stages: one for each pass, `out_0_add` and so on; before a pass with an operand for each
    element, `out_0_add_operand` and the passes over it, `out_0_add_operand_0_mul` and so on. A
    `RequantisePass` comes last.
    """

    passes: tuple[EpiloguePass, ...] = ()

    @property
    def channel_operands(self) -> tuple[str, ...]:
        """Names of the operands with a value for each channel."""
        found = (step.operand for _, step in self._alu_passes if step.kind is OperandKind.CHANNEL)
        return tuple(dict.fromkeys(found))

    @property
    def element_types(self) -> tuple[DType, ...]:
        """Types in DRAM of the operands in ACC with a value for each element."""
        return tuple(step.dtype for _, step in self._alu_passes if step.kind is OperandKind.ELEMENT)

    @property
    def element_operands(self) -> int:
        """Number of operands in ACC with a value for each element."""
        return len(self.element_types)

    @property
    def operand_passes(self) -> Epilogue:
        """The passes over element-wise operands before their use."""
        alu = (step for step in self.passes if isinstance(step, AluPass))
        return Epilogue(tuple(before for step in alu for before in step.before))

    @property
    def immediate_passes(self) -> int:
        """Number of passes with no operand but in the instruction."""
        return sum(step.kind in _WITHOUT_TENSOR for _, step in self._alu_passes)

    @property
    def tensor_passes(self) -> int:
        """Number of passes with an operand in ACC."""
        return sum(step.kind not in _WITHOUT_TENSOR for _, step in self._alu_passes)

    @property
    def stages(self) -> tuple[str, ...]:
        """The names of the stages in ACC, in topological order."""
        return tuple(name for name, _ in _stages(self.passes, "out"))

    @property
    def requantise(self) -> RequantisePass | None:
        """The pass with parameters in PAR, if there is one."""
        return next((each for each in self.passes if isinstance(each, RequantisePass)), None)

    @property
    def input_operands(self) -> int:
        """Number of operands in INP with a value for each element, each with a pass of its own."""
        return int(self.requantise is not None and self.requantise.residual is not None)

    def parameter_elements(self, blocks: int, tiles: Ints) -> Ints:
        """Elements of PAR that parameters take, of an output of `blocks` blocks of channels.

        Parameters
        ----------
        tiles
            Blocks of channels in the tiles of all threads.
        """
        if self.requantise is None:
            return np.zeros_like(tiles)
        return np.full_like(tiles, blocks) if self.requantise.resident else tiles

    def compute(self, source: Tensor, axis: int | None = None) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The output (int8: the low 8 bits after all passes), and the operands of the passes.

        Parameters
        ----------
        source
            int32, packed: [N, O / L, ..., B, L]; or plain, if there is an axis.
        axis
            That of channels, of a plain source: operands for each channel are vectors then.
        """
        operands: dict[str, Tensor] = {}
        if any(isinstance(each, RequantisePass) for each in self.passes[:-1]):
            raise ScheduleError("epilogue", "a requantisation has to be last")
        last = _passed(source, self.passes, "out", operands, axis)
        output = compute(source.shape, lambda *at: te.cast(last[at], INT8), "out", _axes(source))
        return output, tuple(operands.values())

    def place(self, sketch: Sketch, resident: str | None = None) -> Sketch:
        """Computes passes and loads their operands at the output's loop `thread`; operands in INP
        only by `load_inputs`.

        Operands for each channel are loaded once, before all loops; or with each tile where the
        knob `resident` is 0, and for PAR where the pass says so (ahead of the sums, whose last
        product may requantise them; behind them, by `load_inputs`, where a residual is added).
        """
        for stage, _ in reversed(list(_stages(self.passes, "out"))):
            sketch = sketch.set_scope(stage, OnChip.ACC).compute_at(stage, "out", "thread")
        for stage, only in self._requantise_passes:
            if only.resident or only.residual is None:
                sketch = _read_parameters(sketch, stage, only)
        readers: dict[str, list[str]] = {}
        for stage, step in self._alu_passes:
            if step.kind is OperandKind.CHANNEL:
                readers.setdefault(step.operand, []).append(stage)
        for name, stages in readers.items():
            copy = f"out_{name}"
            sketch = sketch.cache_read(name, tuple(stages), OnChip.ACC, copy)
            if resident is not None:
                moved = Sketch().compute_at(copy, "out", "thread")
                sketch = sketch.when(resident, (0,), moved)
        return sketch

    def load_inputs(self, sketch: Sketch) -> Sketch:
        """Loads operands in INP at the output's loop `thread`, and parameters that come with a
        tile: after the sums, if those are there already, so that the next tile's loads need not
        wait for this tile's passes."""
        for stage, step in self._requantise_passes:
            if step.residual is not None:
                copy = f"{stage}_operand"
                sketch = sketch.cache_read(step.residual, (stage,), OnChip.INP, copy)
                sketch = sketch.compute_at(copy, "out", "thread")
                if not step.resident:
                    sketch = _read_parameters(sketch, stage, step)
        return sketch

    def tensorize(self, sketch: Sketch, config: HardwareConfig) -> Sketch:
        """Tensorizes each pass with its instruction; call last, as loops are then fixed."""
        for stage, only in self._requantise_passes:
            requantised_by = requantise if only.residual is None else requantise_add
            sketch = sketch.tensorize(stage, "b", requantised_by(config).function)
        for stage, step in self._alu_passes:
            sketch = sketch.tensorize(stage, "b", _instruction(config, step).function)
        return sketch

    @property
    def _alu_passes(self) -> list[tuple[str, AluPass]]:
        """Pairs of stage name and ALU pass, in order, including passes over operands."""
        stages = _stages(self.passes, "out")
        return [(name, step) for name, step in stages if isinstance(step, AluPass)]

    @property
    def _requantise_passes(self) -> list[tuple[str, RequantisePass]]:
        """The pair of stage name and requantisation, if there is one."""
        stages = _stages(self.passes, "out")
        return [(name, step) for name, step in stages if isinstance(step, RequantisePass)]


def _read_parameters(sketch: Sketch, stage: str, step: RequantisePass) -> Sketch:
    """Loads parameters into PAR: before all loops, or at the output's loop `thread`."""
    copy = f"out_{PARAMETERS}"
    sketch = sketch.cache_read(PARAMETERS, (stage,), OnChip.PAR, copy)
    return sketch if step.resident else sketch.compute_at(copy, "out", "thread")


def _named(passes: Sequence[P], prefix: str) -> Iterator[tuple[str, P]]:
    for number, step in enumerate(passes):
        yield f"{prefix}_{number}_{step.name}", step


def _stages(
    passes: Sequence[EpiloguePass], prefix: str
) -> Iterator[tuple[str, EpiloguePass | None]]:
    """The stages in ACC in topological order: names with passes, or with None for LOADs of
    element-wise operands."""
    for name, step in _named(passes, prefix):
        if isinstance(step, AluPass) and step.kind is OperandKind.ELEMENT:
            yield f"{name}_operand", None
            yield from _stages(step.before, f"{name}_operand")
        yield name, step


def _passed(
    value: Tensor,
    passes: Sequence[EpiloguePass],
    prefix: str,
    operands: dict[str, Tensor],
    axis: int | None,
) -> Tensor:
    """The value after all passes; adds the tensors that the passes read to `operands`."""
    for name, step in _named(passes, prefix):
        if isinstance(step, RequantisePass):
            value = _requantised(value, name, step, operands, axis)
        else:
            value = _pass_over(value, name, step, operands, axis)
    return value


def _requantised(
    value: Tensor, name: str, step: RequantisePass, operands: dict[str, Tensor], axis: int | None
) -> Tensor:
    places = (1, -1) if axis is None else (axis,)
    shape = tuple(value.shape[at] for at in places)
    words = operands.setdefault(PARAMETERS, placeholder(shape, INT64, PARAMETERS))
    skip = None if step.residual is None else placeholder(value.shape, INT8, step.residual)
    if skip is not None:
        operands.setdefault(skip.name, skip)
    names = (LOW, HIGH) if skip is None else (LOW, HIGH, SCALE)
    low, high, *scale = (
        operands.setdefault(called, placeholder((), INT32, called, scope=OnChip.IMM))[()]
        for called in names
    )

    def element(*at: Expr) -> Expr:
        added = None if skip is None else (skip[at], scale[0])
        word = words[tuple(at[place] for place in places)]
        return requantised(value[at], word, low, high, added)

    return compute(value.shape, element, name, _axes(value))


_WITHOUT_TENSOR = (OperandKind.IMMEDIATE, OperandKind.NONE)


def _instruction(config: HardwareConfig, step: AluPass) -> TensorInstruction:
    """The tensor instruction of a pass."""
    match step.op, step.kind:
        case AluOp() as op, OperandKind.IMMEDIATE:
            return immediate_argument(config, op)
        case AluOp() as op, _:
            return alu_binary(config, op)
        case op, OperandKind.NONE:
            return custom_unary(config, op)
        case op, kind:
            scope = OnChip.IMM if kind is OperandKind.IMMEDIATE else OnChip.ACC
            return custom_binary(config, op, scope)


def _pass_over(
    value: Tensor, name: str, step: AluPass, operands: dict[str, Tensor], axis: int | None
) -> Tensor:
    axes = _axes(value)
    channel = (1, -2, -1) if axis is None else (axis,)
    immediate: tuple[Expr, ...] = ()
    if step.parameters is not None:
        packed = placeholder((), INT32, step.parameters, scope=OnChip.IMM)
        immediate = (operands.setdefault(step.parameters, packed)[()],)
    if step.kind is OperandKind.NONE:
        own = step.op
        assert not isinstance(own, AluOp)

        def alone(*at: Expr) -> Expr:
            return custom_value(own, value[at], value[at], *immediate)

        return compute(value.shape, alone, name, axes)
    match step.kind:
        case OperandKind.IMMEDIATE:
            shape: tuple[int, ...] = ()
        case OperandKind.CHANNEL:
            shape = tuple(value.shape[place] for place in channel)
        case OperandKind.ELEMENT:
            shape = value.shape
    scope = OnChip.IMM if step.kind is OperandKind.IMMEDIATE else Scope.GLOBAL
    tensor = placeholder(shape, step.dtype, step.operand, scope=scope)
    operand = operands.setdefault(step.operand, tensor)
    if step.kind is OperandKind.ELEMENT:
        loaded = in_accumulators(operand, f"{name}_operand", axes)
        operand = _passed(loaded, step.before, f"{name}_operand", operands, axis)

    def element(*at: Expr) -> Expr:
        indices = {
            OperandKind.IMMEDIATE: (),
            OperandKind.CHANNEL: tuple(at[place] for place in channel),
            OperandKind.ELEMENT: at,
        }
        second = operand[indices[step.kind]]
        if isinstance(step.op, AluOp):
            return alu_value(step.op, value[at], second)
        return custom_value(step.op, value[at], second, *immediate)

    return compute(value.shape, element, name, axes)


def _axes(tensor: Tensor) -> tuple[str, ...]:
    """The names of a computed tensor's axes."""
    assert tensor.source is not None
    return tuple(axis.name for axis in tensor.source.axes)


def in_accumulators(tensor: Tensor, name: str, axes: Sequence[str]) -> Tensor:
    """An int8 or int32 tensor as int32, as a LOAD into ACC converts it."""

    def element(*at: Expr) -> Expr:
        return tensor[at] if tensor.dtype == INT32 else te.cast(tensor[at], INT32)

    return compute(tensor.shape, element, name, axes)
