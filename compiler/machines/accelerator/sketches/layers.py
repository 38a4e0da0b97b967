"""Sketches of a network's layers: the computation of a template's program, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.sketches.template import PRODUCT_SKETCHES
from tandem.compiler.plan.schedule_template import RESULT, Arguments
from tandem.compiler.te.knobs import Choice
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import map_buffers
from tandem.compiler.tune.sketches.computation import Computation

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LayerSketch:
    """The computation of a layer.

    Attributes
    ----------
    inputs
        What the layer's program calls the computation's inputs, in their order.
    """

    computation: Computation
    inputs: tuple[str, ...]

    @staticmethod
    def of(start: PrimFunc) -> LayerSketch:
        """The computation of an initial program, as templates have it."""
        return LayerSketch(Computation.of(start), tuple(each.name for each in start.inputs))

    @property
    def numbers(self) -> Mapping[str, str]:
        """What the computation calls its inputs, by their names in the layer's program."""
        return {name: f"a{number}" for number, name in enumerate(self.inputs)}

    def arguments(self, given: Arguments, without: tuple[str, ...] = ()) -> Arguments:
        """A layer's arguments by the computation's names, some of them left out."""
        numbers = self.numbers

        def renamed(values: Mapping[str, T]) -> dict[str, T]:
            return {numbers[name]: one for name, one in values.items() if name not in without}

        return Arguments(renamed(given.tensors), renamed(given.immediates))

    def start(self) -> Schedule:
        """The initial schedule, of tensors as the layer's program calls them."""
        return Schedule(self._named(self.computation.start().program))

    def program(self, choice: Choice, machine: AcceleratorTarget) -> PrimFunc:
        """The program of a sketch, whose tensors have the names that the layer's program gives
        them.

        Raises
        ------
        CompilerError
            A primitive refuses a setting of the choice.
        """
        return self._named(PRODUCT_SKETCHES.schedule(self.computation, choice, machine).program)

    def _named(self, program: PrimFunc) -> PrimFunc:
        names = {number: name for name, number in self.numbers.items()}
        (output,) = program.outputs
        return _renamed(program, {**names, output.name: RESULT})


def _renamed(program: PrimFunc, names: Mapping[str, str]) -> PrimFunc:
    """A program whose inputs and outputs have other names."""

    def changed(buffers: tuple[Buffer, ...]) -> tuple[Any, ...]:
        return tuple(replace(each, name=names[each.name]) for each in buffers)

    inputs, outputs = changed(program.inputs), changed(program.outputs)
    old = (*program.inputs, *program.outputs)
    new = dict(zip((each.name for each in old), (*inputs, *outputs), strict=True))
    return replace(program, inputs=inputs, outputs=outputs, body=map_buffers(program.body, new))
