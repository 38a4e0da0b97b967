"""Random networks of operators with and without support on the accelerator."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd, prod

import numpy as np

from tandem.compiler.errors import GraphError
from tandem.compiler.graph import Function, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.elementwise import Clip
from tandem.compiler.graph.operators.parts import Concat
from tandem.compiler.graph.operators.products import Conv2d, Product
from tandem.compiler.graph.operators.reductions import AveragePool, Epsilon, MaxPool
from tandem.compiler.graph.operators.shapes import Flatten, Reshape, Transpose, Upsample
from tandem.compiler.graph.visit import atoms
from tests.support.compiler.chance import LARGEST, RandomNetworkBuilder

_CHANNELS = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 20)
_STEPS = {
    "conv": 10,
    "pool": 3,
    "add": 4,
    "activate": 2,
    "batch_norm": 1,
    "bias": 1,
    "average_pool": 1,
    "mean": 1,
    "concat": 2,
    "place": 2,
    "dense": 3,
}
"""The operators that are drawn, with their relative frequencies."""
_UPSAMPLING_STEPS = {**_STEPS, "upsample": 8}
"""The same with images that are enlarged."""
_JOINING_STEPS = {**_STEPS, "concat": 12, "place": 8, "bias": 0, "mean": 0}
"""The same with many images that lie within others."""


def accelerated_network(
    rng: np.random.Generator, most: int = 15, *, upsampling: bool = False, joining: bool = False
) -> Function:
    """A random network of 3 to `most` operators (and auxiliary ones), with one or two inputs.

    Parameters
    ----------
    upsampling
        Whether images may be enlarged.
    joining
        Whether most images lie within others.
    """
    steps_of = _UPSAMPLING_STEPS if upsampling else _JOINING_STEPS if joining else _STEPS
    drawing = _Network(rng, steps_of)
    steps = int(rng.integers(3, most + 1))
    while len(drawing.lets) < steps:
        drawing.step()
    return drawing.function(*drawing.results())


class _Network(RandomNetworkBuilder):
    def __init__(self, rng: np.random.Generator, steps: Mapping[str, int]) -> None:
        super().__init__(rng)
        self._steps = steps
        batch = self.draw(1, 1, 1, 2, 3)
        side = self.draw(1, 4, 7, 10)
        for name in ("x", "z")[: self.draw(1, 1, 1, 2)]:
            self.give(name, batch, self.draw(*_CHANNELS), self.most(side), self.most(side))

    # Operators -----------------------------------------------------------------------------------

    def step(self) -> None:
        """Add a random operator, or none if it fits no existing value."""
        chances = np.array([*self._steps.values()], float)
        kind = str(self.rng.choice([*self._steps], p=chances / chances.sum()))
        image = self.value(4)
        match kind:
            case "dense":
                self._dense()
            case "place":
                self._place()
            case "activate":
                self._activated(self.value(2, 4))
            case _ if image is None:
                pass
            case "conv":
                self._activated(self._conv(image))
            case "pool":
                self._max_pool(image)
            case "average_pool":
                self._average_pool(image)
            case "add":
                self._activated(self._add(image))
            case "batch_norm":
                self._batch_norm(image)
            case "bias":
                self.call("add", image, self.row(self.shapes[image.name][1], 1, 1))
            case "mean":
                self.call("global_average_pool", image)
            case "concat":
                self._concat(image)
            case "upsample":
                self._upsample(image)

    def _activated(self, x: Var | None) -> None:
        if x is None:
            return
        match self.draw(*[0] * 5, *[1] * 6, *[2] * 3, 3, 4):
            case 1:
                self.call("relu", x)
            case 2:
                low, high = sorted(self.rng.normal(size=2).round(2).tolist())
                limits = [Clip(0.0, 6.0), Clip(low, high + 0.1), Clip(None, 1.0), Clip(-0.5, None)]
                self.call("clip", x, to=limits[self.draw(0, 1, 2, 3)])
            case 3:
                self.call("leaky_relu", x, to=OPERATORS["leaky_relu"].attributes(0.1))
            case 4:
                self.call("sigmoid", x)

    def _conv(self, x: Var) -> Var | None:
        channels = self.shapes[x.name][1]
        kernel, outputs, groups = self.kernel(), self.draw(*_CHANNELS), 1
        given = self.windows(kernel)
        if not self.windowed(x, kernel, given):
            return None
        if self.odds(0.1):
            groups = channels
            outputs = channels * self.draw(1, 1, 2)
        elif self.odds(0.05):
            groups = gcd(channels, outputs)
        bias = (self.row(outputs, scale=self.draw(1, 1, 1, 100)),) if self.odds(0.6) else ()
        weight = self.weight(outputs, channels // groups, *kernel)
        to = Conv2d(given["strides"], given["padding"], given["dilation"], groups)
        found = self.call("conv2d", x, weight, *bias, to=to)
        if prod(self.shapes[found.name][1:]) > LARGEST:
            # Too large for further operators.
            self.call("global_average_pool", found)
            return None
        return found

    def _max_pool(self, x: Var) -> None:
        kernel = (self.draw(1, 2, 2, 3, 3), self.draw(1, 2, 3))
        given = self.windows(kernel)
        given["padding"] = tuple(min(each, 1) for each in given["padding"])
        if self.windowed(x, kernel, given):
            self._perhaps("max_pool", x, MaxPool(kernel, **given, ceil_mode=self.odds(0.4)))

    def _average_pool(self, x: Var) -> None:
        kernel = (self.draw(1, 2, 3), self.draw(1, 2, 3))
        given = self.windows(kernel)
        given["padding"] = tuple(min(each, 1) for each in given["padding"])
        if self.windowed(x, kernel, given):
            inside = self.odds(0.5)
            to = AveragePool(
                kernel, **given, ceil_mode=self.odds(0.2), count_include_pad=not inside
            )
            self._perhaps("average_pool", x, to)

    def _perhaps(self, operator: str, x: Var, to: MaxPool | AveragePool) -> None:
        """Add a pool, unless one of its windows lies entirely in the padding."""
        try:
            self.call(operator, x, to=to)
        except GraphError:
            return

    def _add(self, x: Var) -> Var | None:
        """Add `x` and a value of its shape, which exists or is made for the sum."""
        shape = self.shapes[x.name]
        same = [name for name, other in self.shapes.items() if other == shape]
        other = str(self.rng.choice(same))
        if self.odds(0.5):
            aside = [
                name
                for name, extents in self.shapes.items()
                if len(extents) == 4 and extents[0] == shape[0] and extents[2:] == shape[2:]
            ]
            source = Var(str(self.rng.choice(aside)))
            side = self.draw(1, 3)
            weight = self.weight(shape[1], self.shapes[source.name][1], side, side)
            same_size = Conv2d(padding=(side // 2,) * 4)
            other = self.call("conv2d", source, weight, to=same_size).name
            if self.odds(0.3):
                other = self.call("relu", Var(other)).name
        pair = (x, Var(other)) if self.odds(0.5) else (Var(other), x)
        return self.call("add", *pair)

    def _batch_norm(self, x: Var) -> None:
        channels = self.shapes[x.name][1]
        numbers = [self.row(channels) for _ in range(3)]
        variance = self.row(channels, least=0.1)
        self.call("batch_norm", x, *numbers, variance, to=Epsilon())

    def _concat(self, x: Var) -> None:
        axis = self.draw(1, 1, 1, 2, 3)
        shape = self.shapes[x.name]
        fitting = [
            name
            for name, other in self.shapes.items()
            if len(other) == 4
            and [*other[:axis], *other[axis + 1 :]] == [*shape[:axis], *shape[axis + 1 :]]
        ]
        others = [Var(str(each)) for each in self.rng.choice(fitting, self.draw(1, 1, 2))]
        total = shape[axis] + sum(self.shapes[each.name][axis] for each in others)
        if prod(shape[1:]) // shape[axis] * total <= LARGEST:
            self.call("concat", x, *others, to=Concat(axis))

    def _upsample(self, x: Var) -> None:
        factors = (self.draw(1, 2, 2, 3), self.draw(1, 2, 2, 3))
        if prod((*self.shapes[x.name][1:], *factors)) <= LARGEST:
            self.call("upsample", x, to=Upsample(factors))

    def _place(self) -> None:
        """Add an operator that only moves elements."""
        x = self.value(2, 4)
        assert x is not None, "what is given"
        shape = self.shapes[x.name]
        match self.draw(0, 1, 2), shape:
            case 0, (_, _, _, _):
                orders = ((0, 1, 3, 2), (0, 2, 3, 1), (0, 3, 1, 2))
                self.call("transpose", x, to=Transpose(orders[self.draw(0, 1, 2)]))
            case 1, (images, channels, height, width):
                shapes = (
                    (images, channels * height, width, 1),
                    (images, channels, -1, 1),
                    (images, 1, channels * height, width),
                )
                self.call("reshape", x, to=Reshape(shapes[self.draw(0, 1, 2)]))
            case 2, (_, _, _, _):
                self.call("flatten", x, to=Flatten(1))
            case _, (rows, columns):
                self.call("reshape", x, to=Reshape((rows, columns, 1, 1)))

    def _dense(self) -> None:
        """Add a dense layer on a matrix, to which an image is flattened."""
        x = self.value(2, 4)
        assert x is not None, "what is given"
        shape = self.shapes[x.name]
        if len(shape) == 4:
            if prod(shape[1:]) > 200:
                x = self.call("global_average_pool", x)
            x = self.call("flatten", x, to=Flatten(1))
        outputs = self.draw(*_CHANNELS)
        bias = (self.row(outputs),) if self.odds(0.6) else ()
        weight = self.weight(outputs, self.shapes[x.name][1])
        found = self.call("dense", x, weight, *bias, to=Product())
        if self.odds(0.3):
            same = [name for name, each in self.shapes.items() if each == self.shapes[found.name]]
            found = self.call("add", found, Var(str(self.rng.choice(same))))
        self._activated(found)

    # Results -------------------------------------------------------------------------------------

    def results(self) -> list[Var]:
        """Results of the network: all unread values or only the last, sometimes with further
        values.
        """
        made = [each.name for each in self.lets]
        if self.odds(0.4):
            names = made[-1:]
        else:
            read = {
                atom.name for let in self.lets for atom in atoms(let.value) if isinstance(atom, Var)
            }
            names = [each for each in made if each not in read]
        if self.odds(0.3):
            names += [str(self.rng.choice([*self.shapes])) for _ in range(self.draw(1, 1, 2))]
        return [Var(each) for each in names]
