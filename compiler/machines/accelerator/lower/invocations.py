"""Lowers loop nests around a tensor instruction to GEMM and ALU commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeGuard

import numpy as np

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.stmt import Invoke, Region, parameters
from tandem.compiler.machines.accelerator.intrinsics.base import (
    AluStep,
    GemmStep,
    RequantiseStep,
    ResetStep,
    Step,
    TensorInstruction,
)
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.lower.commands import Compute, Ints, Loop, Mode
from tandem.compiler.machines.accelerator.lower.compute_commands import (
    InstructionLimits,
    Operation,
    commands_of,
)
from tandem.compiler.machines.accelerator.lower.index_sums import Env, IndexSum
from tandem.compiler.machines.accelerator.lower.instruction_nests import Box, Nest
from tandem.compiler.machines.accelerator.lower.onchip import lanes_of
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.hw.operations import AluOp

_Place = tuple[tuple[tuple[str, tuple[int, int]], ...], tuple[int, ...]]
"""The loops of a box with their iterations, and each operand's address in the first one: in loops
that are not unrolled, addresses have the same strides everywhere."""
_Address = tuple[int, dict[str, int]]
"""An operand's address in a box's first iteration, and its stride along each loop, in elements."""


@dataclass(frozen=True, slots=True)
class InvocationPlan:
    """A loop nest around a tensor instruction, analysed once for all iterations of outer loops.

    `at` only substitutes the variables of the outer loops.

    Attributes
    ----------
    operands
        By on-chip parameter: the buffer, the operand's offset in the buffer in values, and the
        number of values in an element.
    immediates
        By parameter in IMM, the name of its buffer.
    unrolled
        Variables of the nest's loops in which an operand's offset is not linear.
    around
        Variables of outer loops that the commands depend on.
    moves
        Whether the machine has MOVE.
    """

    nest: Nest
    instruction: TensorInstruction
    operands: dict[str, tuple[Buffer, IndexSum, int]]
    immediates: dict[str, str]
    unrolled: frozenset[str]
    around: tuple[str, ...]
    limits: InstructionLimits
    moves: bool
    _known: dict[tuple[_Place, ...], list[Compute]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @staticmethod
    def of(nest: Nest, target: AcceleratorTarget) -> InvocationPlan:
        """The plan of a nest whose leaf is an intrinsic.

        Raises
        ------
        LoweringError
            If the target lacks the instruction, or operands do not match its parameters.
        """
        assert isinstance(nest.leaf, Invoke)
        instruction = target.instruction(nest.leaf.intrinsic.name)
        function = instruction.function
        if nest.leaf.intrinsic != function:
            raise LoweringError(
                f"the program defines {function.name} otherwise than {target.config.name} does"
            )
        operands, immediates = dict[str, tuple[Buffer, IndexSum, int]](), dict[str, str]()
        for parameter, region in zip(parameters(function), nest.leaf.operands, strict=True):
            buffer = region.buffer
            if parameter.scope == OnChip.IMM:
                if buffer.scope != OnChip.IMM or buffer.size != 1:
                    raise LoweringError(
                        f"{function.name}: {parameter.name} must be one number in imm, not "
                        f"{list(buffer.shape)} in {buffer.scope.value} ({buffer.name})"
                    )
                immediates[parameter.name] = buffer.name
                continue
            _check_element(function.name, parameter, region, target)
            at = IndexSum.of_address(buffer, region.lower)
            operands[parameter.name] = buffer, at, parameter.size
        sums = [at for _, at, _ in operands.values()]
        unrolled = frozenset[str]().union(*(each.nonlinear_in(nest.names) for each in sums))
        around = nest.around.union(*(each.names for each in sums)) - nest.names
        limits = InstructionLimits.of(target.config)
        moves = AluOp.MOVE in target.config.operations
        return InvocationPlan(
            nest, instruction, operands, immediates, unrolled, tuple(around), limits, moves
        )

    @property
    def output(self) -> Buffer:
        """The buffer that the instruction writes."""
        return self.operands[self.instruction.function.outputs[0].name][0]

    def at(self, env: Env, bases: Mapping[str, int]) -> list[Compute]:
        """The commands of one iteration of the outer loops; of `env` only `around` matters. The
        same list for all iterations with the same boxes and addresses: most tiles are whole.

        Parameters
        ----------
        bases
            The address of each on-chip buffer's first element, the same in all calls.
        """
        placed = self._placed(self.nest.boxes(env, self.unrolled), bases)
        key = tuple([each.place for each in placed])
        if key not in self._known:
            self._known[key] = self._commands(placed, env, bases)
        return self._known[key]

    def _commands(
        self, placed: list[_PlacedBox], env: Env, bases: Mapping[str, int]
    ) -> list[Compute]:
        if any(len(each.steps) > 1 for each in placed) and _written_twice(placed):
            # Iterations that write the same element must not interleave their steps.
            placed = self._placed(self.nest.boxes(env, self.nest.names), bases)
        commands: list[Compute] = []
        readers: list[Compute] = []
        self_combining: list[Compute] = []
        for box in placed:
            for step in box.steps:
                step_commands = list(self._step(step, box))
                commands += step_commands
                if self._reads_output(step, box):
                    own = box.addresses[step.dst] == box.addresses[str(step.src)]
                    (self_combining if own else readers).extend(step_commands)
        self._check_independent(commands, readers)
        self._check_commuting(commands, self_combining)
        return commands

    def _placed(
        self, boxes: Iterator[tuple[Env, Box]], bases: Mapping[str, int]
    ) -> list[_PlacedBox]:
        result = self.instruction.function.outputs[0].name
        found = []
        for env, box in boxes:
            addresses = {name: self._address(name, env, box, bases) for name in self.operands}
            steps = self._steps(addresses, result)
            found.append(_PlacedBox(box, addresses, addresses[result], steps))
        return found

    def _address(self, name: str, env: Env, box: Box, bases: Mapping[str, int]) -> _Address:
        buffer, total, lanes = self.operands[name]
        first, strides = total.at(env)
        first += sum(box[var][0] * stride for var, stride in strides.items())
        if first % lanes or any(stride % lanes for stride in strides.values()):
            raise LoweringError(
                f"{self.instruction.name}: operand {name} must begin on an element of {lanes} "
                f"values, and begins inside an element of {buffer.name} {list(buffer.shape)}"
            )
        return bases[buffer.name] + first // lanes, {
            var: stride // lanes for var, stride in strides.items() if box[var][1] - box[var][0] > 1
        }

    def _steps(self, addresses: dict[str, _Address], result: str) -> tuple[Step, ...]:
        """The instruction's steps, after a copy of the start value unless the output holds it."""
        start, steps = self.instruction.start, self.instruction.steps
        in_place = start is None or addresses[start] == addresses[result]
        accumulators = [name for name in addresses if self.operands[name][0].scope == OnChip.ACC]
        others = [name for name in accumulators if name not in (start, result)]
        overwritten = [name for name in others if addresses[name] == addresses[result]]
        # A later step would read an operand that the copy or the first step has overwritten.
        if (len(steps) > 1 or not in_place) and overwritten:
            raise LoweringError(
                f"{self.instruction.name} would overwrite {overwritten} before reading them"
            )
        if start is None or in_place:
            return steps
        if self.moves:
            return (AluStep(AluOp.MOVE, result, start), *steps)
        return (ResetStep(result), AluStep(AluOp.ADD, result, start), *steps)

    def _step(self, step: Step, placed: _PlacedBox) -> Iterator[Compute]:
        unused: _Address = (0, {})
        src = wgt = par = unused
        at = placed.addresses
        match step:
            case ResetStep():
                operation = Operation(reset=True)
            case GemmStep():
                operation, src, wgt = Operation(), at[step.src], at[step.wgt]
            case AluStep(op=op, src=str(name), parameters=str(parameters)):
                imm = self.immediates[parameters]
                operation, src = Operation(op, imm, from_inp=self._in_inp(name)), at[name]
            case AluStep(op=op, src=str(name)) if name in self.immediates:
                operation = Operation(op, self.immediates[name])
            case AluStep(op=op, src=str(name)):
                operation, src = Operation(op, from_inp=self._in_inp(name)), at[name]
            case AluStep(op=op, src=int(value)):
                operation = Operation(op, value)
            case RequantiseStep(added=str(name), parameters=words):
                src, par = at[name], at[words]
                mode = self._mode(step, par[0])
                operation = Operation(AluOp.RESIDUAL, from_inp=True, mode=mode)
            case RequantiseStep(parameters=words):
                par = at[words]
                operation = Operation(AluOp.ADD, 0, mode=self._mode(step, par[0]))
            case _:
                raise AssertionError(step)
        dst = at[step.dst]
        axes = [
            Loop(high - low, *(strides.get(name, 0) for _, strides in (dst, src, wgt, par)))
            for name, (low, high) in placed.box.items()
        ]
        start = {"dst": dst[0], "src": src[0], "wgt": wgt[0]}
        if operation.reset:
            axes = [each for each in axes if each.dst]
        return commands_of(axes, start, operation, self.limits)

    def _in_inp(self, name: str) -> bool:
        return self.operands[name][0].scope == OnChip.INP

    def _mode(self, step: RequantiseStep, par: int) -> Mode:
        low, high, *scale = (self.immediates[name] for name in step.immediates)
        return Mode(par, low, high, *scale)

    def _reads_output(self, step: Step, placed: _PlacedBox) -> TypeGuard[AluStep]:
        """Whether a step's source operand is in the buffer that the step writes."""
        if not isinstance(step, AluStep) or step.src not in self.operands:
            return False
        return self.operands[step.dst][0].name == self.operands[str(step.src)][0].name

    def _check_independent(self, writing: list[Compute], reading: list[Compute]) -> None:
        """Raises `LoweringError` if an iteration reads an accumulator that another writes, because
        the commands may reorder the iterations."""
        if not reading:
            return
        written = np.concatenate([each.indices("dst") for each in writing])
        shared = np.intersect1d(written, np.concatenate([each.indices("src") for each in reading]))
        if len(shared):
            raise LoweringError(
                f"{self.instruction.name}: {len(shared)} accumulators, from {shared[0]}, are "
                f"written in one iteration and read in another"
            )

    def _check_commuting(self, writing: list[Compute], doubling: list[Compute]) -> None:
        """Raises `LoweringError` if an accumulator is combined with itself in one iteration (a
        command in `doubling`) and written in another: the result depends on the order."""
        if not doubling or len(doubling) == len(writing):
            return
        own = {id(command) for command in doubling}
        others = [command.indices("dst") for command in writing if id(command) not in own]
        doubled = np.concatenate([command.indices("dst") for command in doubling])
        shared = np.intersect1d(doubled, np.concatenate(others))
        if len(shared):
            raise LoweringError(
                f"{self.instruction.name}: {len(shared)} accumulators, from {shared[0]}, are "
                f"combined with themselves in one iteration and written in another"
            )


def _check_element(
    instruction: str, parameter: Buffer, region: Region, target: AcceleratorTarget
) -> None:
    """Raises `LoweringError` unless `region` is one whole element of the parameter's memory."""
    memory = target.memory(parameter.scope)
    lanes = parameter.size if memory is None else lanes_of(memory, target.config)
    if parameter.size != lanes:
        raise LoweringError(
            f"{instruction}: {parameter.name} {list(parameter.shape)} has {parameter.size} values; "
            f"an element of {parameter.scope.value} has {lanes}"
        )
    if region.buffer.scope != parameter.scope:
        raise LoweringError(
            f"{instruction}: {parameter.name} must be in {parameter.scope.value}, not in "
            f"{region.buffer.scope.value} ({region.buffer.name})"
        )
    size = 1
    for extent, whole in zip(reversed(region.shape), reversed(region.buffer.shape), strict=True):
        if extent != (whole if size < parameter.size else 1):
            raise LoweringError(
                f"{instruction}: {list(region.shape)} of {region.buffer.name} "
                f"{list(region.buffer.shape)} is not one element of {parameter.size} contiguous "
                f"values"
            )
        size *= extent


@dataclass(frozen=True, slots=True)
class _PlacedBox:
    """A box of iterations, the addresses of all on-chip operands, and the steps to execute."""

    box: Box
    addresses: dict[str, _Address]
    result: _Address
    steps: tuple[Step, ...]

    @property
    def place(self) -> _Place:
        """What the commands of a plan's box depend on."""
        return tuple(self.box.items()), tuple([first for first, _ in self.addresses.values()])

    def written(self) -> Ints:
        """The address of the output's element in each iteration of the box, flattened."""
        start, strides = self.result
        elements = np.array([start], dtype=np.int64)
        for name, (low, high) in self.box.items():
            offsets = np.arange(high - low, dtype=np.int64) * strides.get(name, 0)
            elements = (elements[:, None] + offsets).ravel()
        return elements


def _written_twice(placed: list[_PlacedBox]) -> bool:
    """Whether several iterations write the same element."""
    elements = np.concatenate([each.written() for each in placed])
    return len(np.unique(elements)) < len(elements)
