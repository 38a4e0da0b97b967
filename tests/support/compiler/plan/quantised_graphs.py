"""Small quantised networks, as `compiler.quantise` makes them, with random numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph import Atom, Body, Call, Constant, Function, Let, Param, TensorType, Var
from tandem.compiler.graph.attributes import NO_ATTRIBUTES, Attributes
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.elementwise import Cast
from tandem.compiler.graph.operators.products import Conv2d, Product
from tandem.compiler.graph.operators.quantised import Dequantise, Quantise, Requantise
from tandem.compiler.graph.operators.reductions import MaxPool, Reduction
from tandem.compiler.graph.operators.shapes import Flatten
from tandem.compiler.ir.dtypes import FLOAT32, INT32
from tandem.compiler.machines.accelerator.templates.alu_lowering import is_exact
from tandem.compiler.requantisation import RequantSpec, ScaledResidual


@dataclass
class Net:
    """A network under construction: each method adds operators, and returns the result."""

    seed: int = 0
    lets: list[Let] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)

    def call(self, name: str, operator: str, *args: Atom, given: Attributes = NO_ATTRIBUTES) -> Var:
        self.lets.append(Let(name, Call(OPERATORS[operator], args, given)))
        return Var(name)

    def quantise(self, name: str, data: Var) -> Var:
        scale, zero = Constant(np.array(0.02, np.float32)), Constant(np.array(0, np.int8))
        return self.call(name, "quantise", data, scale, zero, given=Quantise())

    def weight(self, *shape: int) -> NDArray[np.int8]:
        return self._rng.integers(-128, 128, shape, dtype=np.int8)

    def stored(self, name: str, weight: NDArray[np.int8]) -> Atom:
        """A layer's weight as the graph has it."""
        return Constant(weight)

    def conv(
        self,
        name: str,
        data: Var,
        channels: tuple[int, int],
        kernel: int = 3,
        stride: int = 1,
        padding: int = 1,
        skip: Var | None = None,
        low: int = 0,
        groups: int = 1,
    ) -> Var:
        inputs, outputs = channels
        inputs //= groups
        weight = self.weight(outputs, inputs, kernel, kernel)
        strides, pads = (stride, stride), (padding,) * 4
        given = Conv2d(strides, pads, groups=groups, out_dtype=INT32)
        acc = self.call(f"{name}_acc", "conv2d", data, self.stored(name, weight), given=given)
        reach = int(np.abs(weight.astype(np.int64)).reshape(outputs, -1).sum(1).max()) * 128
        scales = self._rng.uniform(0.5, 1.5, outputs) / (80 * np.sqrt(inputs * kernel**2))
        bias = self._rng.integers(-1000, 1000, outputs).tolist()
        residuals = [] if skip is None else [ScaledResidual(0.7)]
        spec = RequantSpec.from_scales(
            scales, bias, low, 127, bound=reach, residuals=residuals, is_exact=is_exact
        )
        return self._requantised(name, acc, spec, skip)

    def add(self, name: str, data: Var, skip: Var) -> Var:
        """The sum of two tensors of different scales, in a third scale."""
        wide = self.call(f"{name}_wide", "cast", data, given=Cast(INT32))
        spec = RequantSpec.from_scales(
            [0.4], 3, bound=128, residuals=[ScaledResidual(0.7)], is_exact=is_exact
        )
        return self._requantised(name, wide, spec, skip)

    def _requantised(self, name: str, acc: Var, spec: RequantSpec, skip: Var | None = None) -> Var:
        assert isinstance(spec.shift, int)
        numbers = _numbers(spec.multiplier, np.int32), _numbers(spec.addend, np.int64)
        limits = Requantise(spec.shift, spec.low, spec.high)
        if skip is None:
            return self.call(name, "requantise", acc, *numbers, given=limits)
        factor = _numbers(spec.residuals[0].multiplier, np.int32)
        return self.call(name, "requantise_add", acc, *numbers, skip, factor, given=limits)

    def max_pool(self, name: str, data: Var) -> Var:
        given = MaxPool((3, 3), (2, 2), (1, 1, 1, 1))
        return self.call(name, "max_pool", data, given=given)

    def mean(self, name: str, data: Var, pixels: int) -> Var:
        wide = self.call(f"{name}_wide", "cast", data, given=Cast(INT32))
        total = self.call(f"{name}_acc", "reduce_sum", wide, given=Reduction((2, 3), True))
        spec = RequantSpec.from_scales([1.5 / pixels], 0, -128, 127, bound=128 * pixels)
        return self._requantised(name, total, spec)

    def dense(self, name: str, data: Var, inputs: int, outputs: int) -> Var:
        """A dense layer of rows, to int8."""
        weight = self.weight(outputs, inputs)
        stored = self.stored(name, weight)
        acc = self.call(f"{name}_acc", "dense", data, stored, given=Product(INT32))
        reach = int(np.abs(weight.astype(np.int64)).sum(1).max()) * 128
        scales = self._rng.uniform(0.5, 1.5, outputs) / (80 * np.sqrt(inputs))
        bias = self._rng.integers(-1000, 1000, outputs).tolist()
        return self._requantised(
            name, acc, RequantSpec.from_scales(scales, bias, 0, 127, bound=reach)
        )

    def logits(self, name: str, data: Var, inputs: int, classes: int) -> Var:
        flat = self.call(f"{name}_flat", "flatten", data, given=Flatten())
        stored = self.stored(name, self.weight(classes, inputs))
        acc = self.call(f"{name}_acc", "dense", flat, stored, given=Product(INT32))
        scales = Constant(self._rng.uniform(0.01, 0.02, classes).astype(np.float32))
        zeros = Constant(self._rng.integers(-5, 5, classes).astype(np.int32))
        return self.call(name, "dequantise", acc, scales, zeros, given=Dequantise())

    def function(self, shape: tuple[int, ...], result: Var) -> Function:
        """The network as a function of an input `x` of that shape."""
        params = (Param("x", TensorType(shape, FLOAT32)),)
        return Function("net", params, Body(tuple(self.lets), result))


def residual_net(
    size: int = 16, seed: int = 0, channels: int = 6, net: Net | None = None
) -> Function:
    """A network of all kinds of layers on the accelerator: a large window with few channels,
    pooling, residual blocks with a stride, a mean, logits.

    Parameters
    ----------
    net
        To build it with.
    """
    net, c = net or Net(seed), channels
    x = net.quantise("x8", Var("x"))
    y = net.max_pool("pool", net.conv("c1", x, (3, c), 5, 2, 2))
    y = net.conv("c3", net.conv("c2", y, (c, c)), (c, c), skip=y)
    shortcut = net.conv("c4", y, (c, 2 * c), 1, 2, 0, low=-128)
    y = net.conv("c6", net.conv("c5", y, (c, 2 * c), 3, 2), (2 * c, 2 * c), skip=shortcut)
    mean = net.mean("mean", y, (size // 8) ** 2)
    return net.function((1, 3, size, size), net.logits("out", mean, 2 * c, 5))


def _numbers(given: object, dtype: type[np.signedinteger]) -> Constant:
    return Constant(np.atleast_1d(np.array(given, dtype)))
