"""An offloaded kernel as a scheduled program, with the numbers that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from compiler.build.accelerator.reading import Core, Reading, numbers, operands, read_kernel
from compiler.errors import CapacityError, CompilerError
from compiler.graph.constant import Constant
from compiler.graph.nodes import Call, Var
from compiler.graph.operators.products import Conv2d
from compiler.graph.operators.quantised import Requantise
from compiler.graph.operators.reductions import MaxPool
from compiler.ir.dtypes import INT8
from compiler.ir.stmt import Function
from compiler.lower.accelerator import Operator
from compiler.operators.accelerator.conv2d import packed_conv2d
from compiler.operators.accelerator.conv2d_schedule import conv2d_schedule
from compiler.operators.accelerator.conv2d_shape import ConvShape
from compiler.operators.accelerator.conv2d_tiles import with_or_without_hiding
from compiler.operators.accelerator.dense import dense_schedule, dense_tiling, packed_dense
from compiler.operators.accelerator.dense_wide import (
    amounts,
    wide_dense,
    wide_dense_schedule,
    wide_tiling,
)
from compiler.operators.accelerator.elementwise import (
    elementwise_schedule,
    elementwise_tile,
    packed_elementwise,
)
from compiler.operators.accelerator.global_average_pool import (
    global_average_pool_schedule,
    global_average_pool_tiling,
    packed_global_average_pool,
)
from compiler.operators.accelerator.machine_cost import MachineCost
from compiler.operators.accelerator.max_pool import (
    max_pool_schedule,
    max_pool_tile,
    packed_max_pool,
)
from compiler.operators.accelerator.packing import block_groups, pack_weight
from compiler.operators.accelerator.requantise import RequantPasses, requantise, residual
from compiler.operators.accelerator.tiling import Tiling
from compiler.requantisation import RequantSpec, ResidualSpec
from compiler.target import AcceleratorTarget
from compiler.te import Schedule, Tensor, placeholder

__all__ = ["Lowered", "Lowering"]

_LARGEST = 128
"""Of an int8, without its sign."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """A kernel, scheduled.

    Attributes
    ----------
    name
        Of its result.
    program
        Its inputs are called as the kernel's parameters, weights and numbers as in `values`.
    values
        Weights and numbers.
    macs
        Useful multiply-accumulates.
    operators
        Of the graph.
    """

    name: str
    program: Function
    values: Mapping[str, NDArray[np.generic]]
    macs: int
    operators: tuple[str, ...]

    def operator(self, call: Call) -> Operator:
        """The program in a stream, where tensors are called as the graph's values."""
        (output,) = self.program.outputs
        tensors = {each: self.name_of(each) for each in self.values} | operands(call)
        return Operator(self.program, tensors | {output.name: self.name})

    def name_of(self, value: str) -> str:
        """What a weight is called in a stream."""
        return f"{self.name}.{value}"


@dataclass(frozen=True, slots=True)
class Lowering:
    """How kernels are lowered. What was lowered before is not lowered again.

    Attributes
    ----------
    threads
        Virtual threads: 2 hide latency, 1 does not. A kernel whose smallest tiles do not fit twice
        is lowered for one, and so is a convolution that is quicker that way.
    """

    target: AcceleratorTarget
    cost: MachineCost
    threads: int = 2
    _known: dict[tuple[str, ...], Lowered] = field(default_factory=dict, repr=False, compare=False)
    _tilings: dict[tuple[ConvShape, int], Tiling] = field(
        default_factory=dict, repr=False, compare=False
    )

    def tiling(self, shape: ConvShape, threads: int) -> Tiling:
        """Tiles for a convolution, for so many threads or one; a network has many of one shape."""
        key = shape, threads
        if key not in self._tilings:
            self._tilings[key] = with_or_without_hiding(shape, self.cost, threads)
        return self._tilings[key]

    def accepts(self, name: str, call: Call) -> bool:
        """Whether a kernel can be lowered."""
        try:
            self.lower(name, call)
        except CompilerError:
            return False
        return True

    def lower(self, name: str, call: Call) -> Lowered:
        """The kernel whose result is called `name`.

        Raises
        ------
        CompilerError
            The accelerator cannot do it: says why.
        """
        reading = read_kernel(call)
        constants = (each.digest for each in call.args if isinstance(each, Constant))
        key = (name, reading.kernel.digest, *constants)
        if key not in self._known:
            self._known[key] = self._lowered(name, reading)
        return self._known[key]

    def _lowered(self, name: str, reading: Reading) -> Lowered:
        try:
            return _Kernel(self, name, reading, self.threads).lowered()
        except CapacityError:
            if self.threads == 1:
                raise
            return _Kernel(self, name, reading, 1).lowered()


@dataclass
class _Kernel:
    how: Lowering
    name: str
    reading: Reading
    threads: int
    values: dict[str, NDArray[np.generic]] = field(default_factory=dict)

    def lowered(self) -> Lowered:
        program = self._schedule().program
        return Lowered(self.name, program, self.values, self._macs(), self.reading.operators)

    def _schedule(self) -> Schedule:
        reading = self.reading
        match reading.operators:
            case ("conv2d", "requantise" | "requantise_add"):
                return self._conv2d(*reading.cores)
            case ("dense", "requantise" | "requantise_add"):
                return self._dense(*reading.cores)
            case ("dense",) if reading.wide:
                return self._wide(*reading.cores)
            case ("max_pool",):
                return self._max_pool(*reading.cores)
            case ("cast", "reduce_sum", "requantise"):
                return self._global_pool(*reading.cores)
            case ("cast", "requantise" | "requantise_add"):
                return self._elementwise(*reading.cores)
            case _:
                reading.fail(f"the accelerator does not do {', '.join(reading.operators)}")

    def _conv2d(self, product: Core, rounding: Core) -> Schedule:
        given = product.attributes
        assert isinstance(given, Conv2d), "verified"
        merged, groups = block_groups(
            numbers(product.args[1]), given.groups, self.how.target.config
        )
        weight = self._weight(merged)
        conv = packed_conv2d(
            self._operand(product),
            weight,
            self._rounding(rounding, self._reach(product)).passes,
            strides=given.strides,
            padding=given.padding,
            dilation=given.dilation,
            groups=groups,
            name=self.name,
        )
        tiling = self.how.tiling(ConvShape.of(conv), self.threads)
        return conv2d_schedule(conv, tiling, self.how.target)

    def _dense(self, product: Core, rounding: Core) -> Schedule:
        passes = self._rounding(rounding, self._reach(product), rank=4).passes
        dense = packed_dense(
            self._operand(product, rank=4), self._flat_weight(product), passes, name=self.name
        )
        tiling = dense_tiling(dense, self.how.target.config, self.threads)
        return dense_schedule(dense, tiling, self.how.target)

    def _wide(self, product: Core) -> Schedule:
        dense = wide_dense(
            self._operand(product, rank=4), self._flat_weight(product), name=self.name
        )
        self.values[dense.amounts.name] = amounts(self.how.target.config)
        tiling = wide_tiling(dense, self.how.target.config, self.threads)
        return wide_dense_schedule(dense, tiling, self.how.target)

    def _max_pool(self, core: Core) -> Schedule:
        given = core.attributes
        assert isinstance(given, MaxPool), "verified"
        pool = packed_max_pool(
            self._operand(core),
            given.kernel,
            strides=given.strides or (1, 1),
            padding=given.padding or (0, 0, 0, 0),
            dilation=given.dilation or (1, 1),
            ceil_mode=given.ceil_mode,
            name=self.name,
        )
        tile = max_pool_tile(pool, self.how.target.config, self.threads)
        return max_pool_schedule(pool, tile, self.how.target)

    def _global_pool(self, cast: Core, _: Core, rounding: Core) -> Schedule:
        data = self._operand(cast)
        pixels = data.shape[2] * data.shape[3]
        passes = self._rounding(rounding, _LARGEST * pixels).passes
        pool = packed_global_average_pool(data, passes, name=self.name)
        tiling = global_average_pool_tiling(pool, self.how.target.config, self.threads)
        return global_average_pool_schedule(pool, tiling, self.how.target)

    def _elementwise(self, cast: Core, rounding: Core) -> Schedule:
        passes = self._rounding(rounding, _LARGEST).passes
        elementwise = packed_elementwise(self._operand(cast), passes, name=self.name)
        tile = elementwise_tile(elementwise, self.how.target.config, self.threads)
        return elementwise_schedule(elementwise, tile, self.how.target)

    def _operand(self, core: Core, rank: int = 6) -> Tensor:
        (data, *_) = core.args
        assert isinstance(data, Var), "matched"
        return self._packed(data, rank)

    def _packed(self, data: Var, rank: int) -> Tensor:
        shape = self.reading.packed_shape(data.name)
        return placeholder(shape if rank == 6 else (*shape[:2], *shape[-2:]), INT8, data.name)

    def _weight(self, weight: NDArray[np.generic]) -> Tensor:
        packed = pack_weight(weight, self.how.target.config)
        self.values["weight"] = packed
        return placeholder(packed.shape, INT8, "weight")

    def _flat_weight(self, product: Core) -> Tensor:
        packed = self._weight(numbers(product.args[1])[:, :, None, None])
        flat = (*packed.shape[:2], *packed.shape[-2:])
        self.values["weight"] = self.values["weight"].reshape(flat)
        return placeholder(flat, INT8, "weight")

    def _reach(self, product: Core) -> int:
        """The largest sum that there can be."""
        weight = np.abs(numbers(product.args[1]).astype(np.int64))
        return max(1, int(weight.reshape(len(weight), -1).sum(axis=1).max())) * _LARGEST

    def _rounding(self, core: Core, reach: int, rank: int = 6) -> RequantPasses:
        given = core.attributes
        assert isinstance(given, Requantise), "verified"
        config, channels = self.how.target.config, self.reading.shape[1]
        multiplier, addend = (_per_channel(each) for each in core.args[1:3])
        limits = given.shift, given.low, given.high, reach
        if core.operator == "requantise":
            spec = RequantSpec(multiplier, addend, *limits)
            passes = requantise(spec, channels, config, "operand")
        else:
            skip, factor = core.args[3:]
            assert isinstance(skip, Var), "matched"
            joint = ResidualSpec(multiplier, addend, int(numbers(factor).item()), *limits)
            passes = residual(joint, self._packed(skip, rank), channels, config, "operand")
        self.values |= passes.values
        return passes

    def _macs(self) -> int:
        first = self.reading.cores[0]
        if first.operator not in ("conv2d", "dense"):
            return 0
        weight = first.args[1]
        assert isinstance(weight, Constant), "matched"
        images, _, *pixels = self.reading.shape
        return weight.array.size * images * prod(pixels)


def _per_channel(atom: object) -> int | tuple[int, ...]:
    assert isinstance(atom, Constant), "matched"
    flat = atom.array.reshape(-1).tolist()
    return int(flat[0]) if len(flat) == 1 else tuple(int(each) for each in flat)
