"""Random networks of operators that the quantiser supports, and a few that it does not."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tandem.compiler.graph import Constant, Function, Var
from tandem.compiler.graph.operators.elementwise import Clip
from tandem.compiler.graph.operators.parts import Concat
from tandem.compiler.graph.operators.products import Conv2d, Product
from tandem.compiler.graph.operators.reductions import AveragePool, MaxPool
from tandem.compiler.graph.operators.shapes import Flatten, Transpose
from tests.support.compiler.graph.drawn_graphs import Drawing

_STEPS = (
    *("conv", "conv", "conv", "relu", "relu", "add", "add", "concat", "max_pool", "average_pool"),
    *("clip", "sigmoid", "transpose", "bias"),
)


class _Drawing(Drawing):
    """A random network under construction."""

    def __init__(self, draw: st.DrawFn) -> None:
        super().__init__()
        self.give("x", 1, 3, 7, 6)
        self._draw = draw
        self._random = np.random.default_rng(draw(st.integers(0, 1 << 20)))

    def constant(self, *shape: int) -> Constant:
        """Random weights that roughly keep the magnitude of values."""
        terms = int(np.prod(shape[1:])) if len(shape) > 1 else 8
        values = self._random.standard_normal(shape) * np.sqrt(2 / terms)
        return Constant(values.astype(np.float32))

    def some(self) -> Var:
        """A random value, mostly one of the last three."""
        names = list(self.shapes)
        return Var(self._draw(st.sampled_from(names[-3:] + names)))

    def like(self, one: Var, axes: tuple[int, ...]) -> Var:
        """A random value with the same extents as `one` along `axes`."""
        wanted = [self.shapes[one.name][axis] for axis in axes]
        fitting = [
            name for name, shape in self.shapes.items() if [shape[axis] for axis in axes] == wanted
        ]
        return Var(self._draw(st.sampled_from(fitting)))

    def step(self) -> None:
        """Add a random operator."""
        x = self.some()
        _, channels, height, width = self.shapes[x.name]
        match self._draw(st.sampled_from(_STEPS)):
            case "conv":
                self._conv(x, channels)
            case "relu" | "sigmoid" as name:
                self.call(name, x)
            case "clip":
                self.call("clip", x, to=Clip(-0.5, 1.0))
            case "add":
                self.call("add", x, self.like(x, (0, 1, 2, 3)))
            case "bias":
                self.call("add", x, self.constant(channels, 1, 1))
            case "concat":
                self.call("concat", x, self.like(x, (0, 2, 3)), to=Concat(1))
            case "transpose":
                self.call("transpose", x, to=Transpose((0, 1, 3, 2)))
            case "max_pool" if min(height, width) > 1:
                self.call("max_pool", x, to=MaxPool((2, 2), padding=(0, 1, 0, 0)))
            case "average_pool" if min(height, width) > 1:
                inside = self._draw(st.booleans())
                padding = (0, 0, 0, 0) if inside else (1, 0, 0, 1)
                to = AveragePool((2, 2), padding=padding, count_include_pad=not inside)
                self.call("average_pool", x, to=to)
            case _:
                self.call("relu", x)

    def _conv(self, x: Var, channels: int) -> None:
        kernel, outputs = self._draw(st.sampled_from([1, 3])), self._draw(st.sampled_from([3, 5]))
        depthwise = self._draw(st.integers(0, 4)) == 0
        inputs, outputs = (1, channels) if depthwise else (channels, outputs)
        weight, bias = self.constant(outputs, inputs, kernel, kernel), self.constant(outputs)
        to = Conv2d(padding=(kernel // 2,) * 4, groups=channels if depthwise else 1)
        rest = (bias,) if self._draw(st.booleans()) else ()
        self.call("conv2d", x, weight, *rest, to=to)

    def end(self) -> Var:
        """Return the last value, sometimes followed by a classifier."""
        last = Var(list(self.shapes)[-1])
        if self._draw(st.booleans()):
            return last
        pooled = self.call("global_average_pool", last)
        flat = self.call("flatten", pooled, to=Flatten(1))
        weight = self.constant(4, self.shapes[flat.name][1])
        return self.call("dense", flat, weight, self.constant(4), to=Product())


@st.composite
def networks(draw: st.DrawFn, steps: int = 9) -> Function:
    """Functions of an image."""
    drawing = _Drawing(draw)
    for _ in range(draw(st.integers(2, steps))):
        drawing.step()
    return drawing.function(drawing.end())
