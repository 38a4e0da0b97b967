"""Tensor instructions in loops: turns of the loops around them only put numbers in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from compiler.errors import LoweringError
from compiler.intrinsics.accelerator import AluStep, GemmStep, ResetStep, Step, TensorInstruction
from compiler.intrinsics.scopes import OnChip
from compiler.ir.buffer import Buffer
from compiler.ir.stmt import Invoke
from compiler.lower.accelerator.commands import Compute, Ints, Loop
from compiler.lower.accelerator.elements import check_element, flat_address
from compiler.lower.accelerator.forms import Env, Form
from compiler.lower.accelerator.kernels import Shape, Work, commands_of
from compiler.lower.accelerator.nests import Box, Nest
from compiler.target import AcceleratorTarget
from hw.operations import AluOp

__all__ = ["InvocationPlan"]

_Address = tuple[int, dict[str, int]]
"""An element, in the first turn of all loops, and by how much it grows in each."""


@dataclass(frozen=True, slots=True)
class InvocationPlan:
    """A tensor instruction and the loops around it that become its own.

    Attributes
    ----------
    operands
        For each parameter on chip, its buffer, the value of it that an element begins with, and
        values in an element.
    immediates
        For each parameter in IMM, its buffer.
    unrolled
        Loops that indices are not linear in.
    around
        Variables of the loops around that anything depends on.
    """

    nest: Nest
    instruction: TensorInstruction
    operands: dict[str, tuple[Buffer, Form, int]]
    immediates: dict[str, str]
    unrolled: frozenset[str]
    around: tuple[str, ...]
    shape: Shape

    @staticmethod
    def of(nest: Nest, target: AcceleratorTarget) -> InvocationPlan:
        """Raises `LoweringError` for an unknown instruction, and for parts of elements."""
        assert isinstance(nest.leaf, Invoke)
        instruction = target.instruction(nest.leaf.intrinsic.name)
        function = instruction.function
        if nest.leaf.intrinsic != function:
            raise LoweringError(
                f"{function.name} does something else in {target.config.name} than in the program"
            )
        parameters = (
            *function.inputs,
            *(each for each in function.outputs if each not in function.inputs),
        )
        operands, immediates = dict[str, tuple[Buffer, Form, int]](), dict[str, str]()
        for parameter, region in zip(parameters, nest.leaf.operands, strict=True):
            buffer = region.buffer
            if parameter.scope == OnChip.IMM:
                if buffer.scope != OnChip.IMM or buffer.size != 1:
                    raise LoweringError(
                        f"{function.name}: {parameter.name} is one number in imm; {buffer.name} is "
                        f"{list(buffer.shape)} in {buffer.scope.value}"
                    )
                immediates[parameter.name] = buffer.name
                continue
            check_element(function.name, parameter, region, target)
            at = Form.of(flat_address(buffer, region.lower))
            operands[parameter.name] = buffer, at, parameter.size
        forms = [form for _, form, _ in operands.values()]
        unrolled = frozenset[str]().union(*(each.needs(nest.names) for each in forms))
        around = nest.around.union(*(each.names for each in forms)) - nest.names
        shape = Shape.of(target.config)
        return InvocationPlan(
            nest, instruction, operands, immediates, unrolled, tuple(around), shape
        )

    @property
    def output(self) -> Buffer:
        """What it changes."""
        return self.operands[self.instruction.function.outputs[0].name][0]

    def at(self, env: Env, bases: Mapping[str, int]) -> list[Compute]:
        """The commands of one iteration; they depend on the variables `around` only.

        Parameters
        ----------
        bases
            Where buffers begin on chip, in elements.
        """
        placed = self._placed(self.nest.boxes(env, self.unrolled), bases)
        if any(len(each.steps) > 1 for each in placed) and _changed_twice(placed):
            # All steps of a turn come before those of the next.
            placed = self._placed(self.nest.boxes(env, self.nest.names), bases)
        commands: list[Compute] = []
        reading: list[Compute] = []
        for each in placed:
            for step in each.steps:
                done = list(self._step(step, each))
                commands += done
                if self._reads_others(step, each):
                    reading += done
        self._check_apart(commands, reading)
        return commands

    def _placed(
        self, boxes: Iterator[tuple[Env, Box]], bases: Mapping[str, int]
    ) -> list[_PlacedBox]:
        result = self.instruction.function.outputs[0].name
        found = []
        for env, box in boxes:
            places = {name: self._address(name, env, box, bases) for name in self.operands}
            steps = self._steps(places, result)
            found.append(_PlacedBox(box, places, places[result], steps))
        return found

    def _address(self, name: str, env: Env, box: Box, bases: Mapping[str, int]) -> _Address:
        buffer, form, lanes = self.operands[name]
        known, growth = form.at(env)
        known += sum(box[var][0] * step for var, step in growth.items())
        if known % lanes or any(step % lanes for step in growth.values()):
            raise LoweringError(
                f"{self.instruction.name} works on whole elements of {lanes} values; its {name} "
                f"begins inside of one of {buffer.name} {list(buffer.shape)}"
            )
        return bases[buffer.name] + known // lanes, {
            var: step // lanes
            for var, step in growth.items()
            if step and box[var][1] - box[var][0] > 1
        }

    def _steps(self, places: dict[str, _Address], result: str) -> tuple[Step, ...]:
        """The instruction's steps, after a copy where it starts from elsewhere."""
        start, steps = self.instruction.start, self.instruction.steps
        in_place = start is None or places[start] == places[result]
        others = [name for name in places if name not in (start, result)]
        # Only the first step reads what the output held before.
        if (len(steps) > 1 or not in_place) and any(
            places[name] == places[result] for name in others
        ):
            raise LoweringError(
                f"{self.instruction.name} would overwrite an operand, {others}, before it is read"
            )
        if start is None or in_place:
            return steps
        return (ResetStep(result), AluStep(AluOp.ADD, result, start), *steps)

    def _step(self, step: Step, placed: _PlacedBox) -> Iterator[Compute]:
        nowhere: _Address = (0, {})
        src = wgt = nowhere
        match step:
            case ResetStep():
                work = Work(reset=True)
            case GemmStep():
                work, src, wgt = Work(), placed.places[step.src], placed.places[step.wgt]
            case AluStep(op=op, src=str(name)) if name in self.immediates:
                work = Work(op, self.immediates[name])
            case AluStep(op=op, src=str(name)):
                work, src = Work(op), placed.places[name]
            case AluStep(op=op, src=int(value)):
                work = Work(op, value)
            case _:
                raise AssertionError(step)
        dst = placed.places[step.dst]
        axes = [
            Loop(high - low, *(place[1].get(name, 0) for place in (dst, src, wgt)))
            for name, (low, high) in placed.box.items()
        ]
        start = {"dst": dst[0], "src": src[0], "wgt": wgt[0]}
        if work.reset:
            axes = [each for each in axes if each.dst]
        return commands_of(axes, start, work, self.shape)

    def _reads_others(self, step: Step, placed: _PlacedBox) -> bool:
        """Whether it reads elements of the buffer that it changes: others than those that it
        changes in the same turn."""
        if not isinstance(step, AluStep) or step.src not in self.operands:
            return False
        dst, src = step.dst, str(step.src)
        same_buffer = self.operands[dst][0].name == self.operands[src][0].name
        return same_buffer and placed.places[dst] != placed.places[src]

    def _check_apart(self, changing: list[Compute], reading: list[Compute]) -> None:
        """Loops become those of instructions in another order, so that no turn may read what
        another one changes."""
        if not reading:
            return
        changed = np.concatenate([each.indices("dst") for each in changing])
        shared = np.intersect1d(changed, np.concatenate([each.indices("src") for each in reading]))
        if len(shared):
            raise LoweringError(
                f"{self.instruction.name}: {len(shared)} accumulators, from {shared[0]}, are "
                f"changed in one turn and read in another"
            )


@dataclass(frozen=True, slots=True)
class _PlacedBox:
    """Turns, where each parameter lies in them, and what is done."""

    box: Box
    places: dict[str, _Address]
    result: _Address
    steps: tuple[Step, ...]

    def written(self) -> Ints:
        """The output's element in each turn."""
        start, growth = self.result
        every = np.array([start], dtype=np.int64)
        for name, (low, high) in self.box.items():
            turns = np.arange(high - low, dtype=np.int64) * growth.get(name, 0)
            every = (every[:, None] + turns).ravel()
        return every


def _changed_twice(placed: list[_PlacedBox]) -> bool:
    """Whether several turns write the same element."""
    every = np.concatenate([each.written() for each in placed])
    return len(np.unique(every)) < len(every)
