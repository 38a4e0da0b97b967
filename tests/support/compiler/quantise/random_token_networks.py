"""Random networks of tokens: products, sums and normalisations, in an order that no model has.

Some values have an integer form and some have none, some are read by several, and many are results:
what quantisation decides about a value depends on all of them.
"""

from __future__ import annotations

import numpy as np

from tandem.compiler.graph import Constant, Function, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.elementwise import Clip
from tandem.compiler.graph.operators.parts import Concat, Slice
from tandem.compiler.graph.operators.products import Conv2d, Product
from tandem.compiler.graph.operators.reductions import Softmax
from tandem.compiler.graph.operators.shapes import Reshape, Transpose, Upsample
from tandem.compiler.graph.visit import atoms
from tests.support.compiler.chance import LARGEST, RandomNetworkBuilder

_STEPS = {
    "product": 10,
    "add": 8,
    "normalise": 4,
    "activate": 4,
    "bias": 2,
    "scale": 2,
    "left": 2,
    "attend": 2,
    "concat": 2,
    "slice": 1,
    "image": 3,
    "conv": 4,
    "upsample": 2,
    "tokens": 2,
}
"""The operators that are drawn, with their relative frequencies."""


def token_network(rng: np.random.Generator) -> Function:
    """A network of 4 to 18 operators, with one or two inputs and one to seven results."""
    drawing = _Tokens(rng)
    steps = int(rng.integers(4, 19))
    for _ in range(steps):
        drawing.step()
    return drawing.function(*drawing.results())


class _Tokens(RandomNetworkBuilder):
    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        count, width = self.draw(1, 4, 7), self.draw(4, 6, 8)
        for name in ("x", "z")[: self.draw(1, 1, 2)]:
            self.give(name, 1, count, width)

    def step(self) -> None:
        """Add a random operator, or none if it fits no value."""
        chances = np.array([*_STEPS.values()], float)
        kind = str(self.rng.choice([*_STEPS], p=chances / chances.sum()))
        tokens, image, either = self.value(3), self.value(4), self.value(3, 4)
        assert tokens is not None, "what is given"
        assert either is not None, "what is given"
        match kind:
            case "product":
                self._product(tokens)
            case "left":
                weight = self.weight(self.draw(1, 3, 7), self.shapes[tokens.name][1])
                self.call("matmul", weight, tokens, to=Product())
            case "attend":
                self._attend(tokens)
            case "normalise":
                self._normalise(tokens)
            case "add":
                self._add(either)
            case "bias":
                shape = self.shapes[either.name]
                row = self.row(shape[1], 1, 1) if len(shape) == 4 else self.row(shape[2])
                self.call("add", either, row)
            case "scale":
                factor = Constant(np.array(self.draw(1, 2, 3) / 4, np.float32))
                self.call("multiply", either, factor)
            case "activate":
                self._activate(either)
            case "concat":
                self._concat(either)
            case "slice" if self.shapes[tokens.name][1] > 1:
                self.call("slice", tokens, to=Slice((1,), (1 << 30,), (1,)))
            case "image":
                _, count, width = self.shapes[tokens.name]
                moved = self.call("transpose", tokens, to=Transpose((0, 2, 1)))
                self.call("reshape", moved, to=Reshape((1, width, count, 1)))
            case "conv" if image is not None:
                self._conv(image)
            case "upsample" if image is not None:
                if np.prod(self.shapes[image.name]) * 4 <= LARGEST:
                    self.call("upsample", image, to=Upsample((2, self.draw(1, 2))))
            case "tokens" if image is not None:
                _, channels, height, width = self.shapes[image.name]
                flat = self.call("reshape", image, to=Reshape((1, channels, height * width)))
                self.call("transpose", flat, to=Transpose((0, 2, 1)))
            case _:
                pass

    def _product(self, x: Var) -> None:
        width = self.shapes[x.name][2]
        outputs = self.draw(width, width, 4, 6, 8, 12)
        found = self.call("matmul", x, Constant(self.weight(outputs, width).array.T), to=Product())
        if self.odds(0.4):
            found = self.call("add", found, self.row(outputs))
        if self.odds(0.3):
            self._activate(found)

    def _activate(self, x: Var) -> None:
        match self.draw(0, 0, 1, 2, 3, 4):
            case 0:
                self.call("relu", x)
            case 1:
                low, high = sorted(self.rng.normal(size=2).round(2).tolist())
                limits = (Clip(0.0, 6.0), Clip(low, high + 0.1), Clip(None, 1.0), Clip(-0.5, None))
                self.call("clip", x, to=limits[self.draw(0, 1, 2, 3)])
            case 2:
                self.call("leaky_relu", x, to=OPERATORS["leaky_relu"].attributes(0.1))
            case 3:
                self.call("sigmoid", x)
            case _:
                self.call("tanh", x)

    def _normalise(self, x: Var) -> None:
        width = self.shapes[x.name][2]
        shift = (self.row(width),) if self.odds(0.5) else ()
        to = OPERATORS["layer_norm"].attributes()
        self.call("layer_norm", x, self.row(width, least=0.5), *shift, to=to)

    def _add(self, x: Var) -> None:
        same = [name for name, shape in self.shapes.items() if shape == self.shapes[x.name]]
        pair = (x, Var(str(self.rng.choice(same))))
        self.call("add", *(pair if self.odds(0.5) else pair[::-1]))

    def _concat(self, x: Var) -> None:
        shape, axis = self.shapes[x.name], len(self.shapes[x.name]) // 2
        fitting = [
            name
            for name, other in self.shapes.items()
            if len(other) == len(shape)
            and [*other[:axis], *other[axis + 1 :]] == [*shape[:axis], *shape[axis + 1 :]]
            and np.prod(other) + np.prod(shape) <= LARGEST
        ]
        if fitting:
            self.call("concat", x, Var(str(self.rng.choice(fitting))), to=Concat(axis))

    def _attend(self, x: Var) -> None:
        """Products of tokens with one another, and their sums by these."""
        across = self.call("transpose", x, to=Transpose((0, 2, 1)))
        scores = self.call("matmul", x, across, to=Product())
        weights = self.call("softmax", scores, to=Softmax(-1))
        self.call("matmul", weights, x, to=Product())

    def _conv(self, x: Var) -> None:
        channels = self.shapes[x.name][1]
        outputs, side = self.draw(channels, 4, 6), self.draw(1, 3)
        bias = (self.row(outputs),) if self.odds(0.5) else ()
        weight = self.weight(outputs, channels, side, side)
        self.call("conv2d", x, weight, *bias, to=Conv2d(padding=(side // 2,) * 4))

    def results(self) -> list[Var]:
        """All values that nothing reads, or the last; and up to three others."""
        names = [*self.shapes]
        read = {
            atom.name for let in self.lets for atom in atoms(let.value) if isinstance(atom, Var)
        }
        found = [let.name for let in self.lets if let.name not in read]
        found = found[-4:] if self.odds(0.6) else names[-1:]
        others = self.rng.choice(names, self.draw(0, 0, 1, 2, 3)).tolist()
        return [Var(name) for name in dict.fromkeys([*found, *map(str, others)])]
