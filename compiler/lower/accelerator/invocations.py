"""Tensor instructions in loops: turns of the loops around them only put numbers in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from compiler.errors import LoweringError
from compiler.intrinsics.accelerator import AluStep, GemmStep, ResetStep, Step, TensorInstruction
from compiler.ir.buffer import Buffer
from compiler.ir.stmt import Invoke, Region
from compiler.lower.accelerator.commands import Compute, Origin
from compiler.lower.accelerator.copies import flat_address
from compiler.lower.accelerator.forms import Env, Form
from compiler.lower.accelerator.kernels import Axis, Shape, Work, commands_of
from compiler.lower.accelerator.nests import Box, Nest
from compiler.target import AcceleratorTarget
from hw.encoding import AluOp

__all__ = ["InvocationPlan"]

_Address = tuple[int, dict[str, int]]
"""An element, in the first turn of all loops, and by how much it grows in each."""


@dataclass(frozen=True, slots=True)
class InvocationPlan:
    """A tensor instruction and the loops around it that become its own.

    Attributes
    ----------
    operands
        For each parameter, its buffer, the value of it that an element begins with, and values in
        an element.
    unrolled
        Loops that indices are not linear in.
    """

    nest: Nest
    instruction: TensorInstruction
    operands: dict[str, tuple[Buffer, Form, int]]
    unrolled: frozenset[str]
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
        operands = {
            parameter.name: (
                region.buffer,
                Form.of(flat_address(region.buffer, region.lower)),
                parameter.size,
            )
            for parameter, region in zip(
                parameters,
                (
                    _checked(function.name, parameter, region)
                    for parameter, region in zip(parameters, nest.leaf.operands, strict=True)
                ),
                strict=True,
            )
        }
        unrolled = frozenset[str]().union(
            *(form.needs(nest.names) for _, form, _ in operands.values())
        )
        return InvocationPlan(nest, instruction, operands, unrolled, Shape.of(target.config))

    def at(self, env: Env, bases: dict[str, int], origin: Origin) -> Iterator[Compute]:
        """The commands of one turn; `bases` tells where buffers begin on chip, in elements."""
        for inner, box in self.nest.boxes(env, self.unrolled):
            yield from self._commands(inner, box, bases, origin)

    def _commands(
        self, env: Env, box: Box, bases: dict[str, int], origin: Origin
    ) -> Iterator[Compute]:
        places = {name: self._address(name, env, box, bases) for name in self.operands}
        result = self.instruction.function.outputs[0].name
        steps = self._steps(places, result)
        _, growth = places[result]
        alone = frozenset(
            name for name, (low, high) in box.items() if high - low > 1 and not growth.get(name)
        )
        if alone and len(steps) > 1:
            # Turns that change the same element come one after the other, all steps of each.
            for turn, one in replace(self.nest, unrolled=alone | self.nest.unrolled).boxes(env):
                if all(box[name][0] <= turn[name] < box[name][1] for name in alone):
                    yield from self._commands(turn, one, bases, origin)
            return
        for step in steps:
            yield from self._step(step, places, box, origin)

    def _address(self, name: str, env: Env, box: Box, bases: dict[str, int]) -> _Address:
        buffer, form, lanes = self.operands[name]
        known, growth = form.at(env)
        known += sum(box[var][0] * step for var, step in growth.items())
        if known % lanes or any(step % lanes for step in growth.values()):
            raise LoweringError(
                f"{self.instruction.name} works on whole elements of {lanes} values; its {name} "
                f"begins inside of one of {buffer.name} {list(buffer.shape)}"
            )
        return bases[buffer.name] + known // lanes, {
            var: step // lanes for var, step in growth.items() if step
        }

    def _steps(self, places: dict[str, _Address], result: str) -> tuple[Step, ...]:
        """The instruction's steps, after a copy where it starts from elsewhere."""
        start = self.instruction.start
        if start is None or places[start] == places[result]:
            return self.instruction.steps
        others = [name for name in places if name not in (start, result)]
        if any(places[name] == places[result] for name in others):
            raise LoweringError(
                f"{self.instruction.name} would overwrite an operand, {others}, before it is read"
            )
        return (ResetStep(result), AluStep(AluOp.ADD, result, start), *self.instruction.steps)

    def _step(
        self, step: Step, places: dict[str, _Address], box: Box, origin: Origin
    ) -> Iterator[Compute]:
        nowhere: _Address = (0, {})
        src = wgt = nowhere
        match step:
            case ResetStep():
                work = Work(reset=True)
            case GemmStep():
                work, src, wgt = Work(), places[step.src], places[step.wgt]
            case AluStep(op=op, src=str(name)):
                work, src = Work(op), places[name]
            case AluStep(op=op, src=int(value)):
                work = Work(op, value)
            case _:
                raise AssertionError(step)
        dst = places[step.dst]
        axes = [
            Axis(high - low, *(place[1].get(name, 0) for place in (dst, src, wgt)))
            for name, (low, high) in box.items()
        ]
        start = {"dst": dst[0], "src": src[0], "wgt": wgt[0]}
        if work.reset:
            axes = [each for each in axes if each.dst]
        overlap = isinstance(step, AluStep) and isinstance(step.src, str) and self._same(step)
        for command in commands_of(axes, start, work, self.shape, origin):
            if overlap and dst != src:
                self._check_apart(command)
            yield command

    def _same(self, step: AluStep) -> bool:
        """Whether both operands lie in one buffer."""
        return self.operands[step.dst][0].name == self.operands[str(step.src)][0].name

    def _check_apart(self, command: Compute) -> None:
        shared = np.intersect1d(command.indices("dst"), command.indices("src"))
        if len(shared):
            raise LoweringError(
                f"{command}: {len(shared)} accumulators, from {shared[0]}, are changed in one turn "
                f"and read in another"
            )


def _checked(instruction: str, parameter: Buffer, region: Region) -> Region:
    """A region, if it is an element: values that lie together."""
    size = 1
    for extent, whole in zip(reversed(region.shape), reversed(region.buffer.shape), strict=True):
        if extent != (whole if size < parameter.size else 1):
            raise LoweringError(
                f"{instruction}: {list(region.shape)} of {region.buffer.name} "
                f"{list(region.buffer.shape)} is no element of {parameter.size} values that lie "
                f"together"
            )
        size *= extent
    return region
