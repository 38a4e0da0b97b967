"""A sketch as an instruction stream, with its tensors as they were written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.machines.accelerator.lower.dram_layout import Operator
from tandem.compiler.machines.accelerator.lower.stream import Stream, compile_stream
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.sketches.blocks import BlockedExpression
from tandem.compiler.te.schedule import Schedule


@dataclass(frozen=True, slots=True, eq=False)
class ArrayKernel:
    """An expression as an instruction stream.

    Attributes
    ----------
    output
        The name of the result in the stream.
    """

    expression: BlockedExpression
    stream: Stream
    output: str

    @staticmethod
    def of(
        expression: BlockedExpression, schedule: Schedule, machine: AcceleratorTarget
    ) -> ArrayKernel:
        """The stream of a schedule of the expression's computation.

        Raises
        ------
        CompilerError
            The schedule cannot be lowered.
        """
        program = schedule.program
        stream = compile_stream([Operator(program, {})], machine)
        return ArrayKernel(expression, stream, program.outputs[0].name)

    def image(self, values: Mapping[str, NDArray[np.generic]]) -> NDArray[np.uint8]:
        """Memory before a run, from the inputs' values by their names in the expression."""
        return self.stream.image(
            {
                f"a{number}": self.expression.packed(tensor.name, values[tensor.name])
                for number, tensor in enumerate(self.expression.inputs)
            }
        )

    def result(self, memory: NDArray[np.uint8]) -> NDArray[np.generic]:
        """The result, from memory after a run."""
        return self.expression.unpacked(self.stream.read(memory, self.output))
