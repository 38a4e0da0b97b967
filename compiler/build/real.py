"""What a quantised network was before: the measure of what is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from compiler.graph.evaluate import Runner, evaluate
from compiler.graph.nodes import Function, Var
from compiler.graph.verify import verify
from compiler.quantise.points import points, with_results

__all__ = ["RealNetwork"]


@dataclass(frozen=True, slots=True)
class RealNetwork:
    """A network in real numbers.

    Attributes
    ----------
    inputs, outputs
        The model's names, in order.
    runner
        That of its calibration, which has compiled most of it.
    """

    function: Function
    inputs: Sequence[str]
    outputs: Sequence[str]
    runner: Runner

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The outputs by name."""
        function, result = self.function, self.function.body.result
        given = [inputs[name] for name in self.inputs]
        if isinstance(result, Var):
            # Kernels end where those of the calibration do.
            names = points(function, verify(function))
            function = with_results(function, (*names, result.name))
        values = evaluate(function, given, self.runner)
        found = values[-1] if isinstance(result, Var) else values
        several = found if isinstance(found, tuple) else (found,)
        arrays = [each for each in several if not isinstance(each, tuple)]
        return dict(zip(self.outputs, arrays, strict=True))
