"""Products of packed rows with a matrix: what dense layers on the array share, whatever becomes of
their sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from compiler import te
from compiler.graph.constant import Constant
from compiler.intrinsics.accelerator import fill, gemm
from compiler.ir.buffer import Scope
from compiler.ir.dtypes import INT8, INT32
from compiler.ir.expr import Expr
from compiler.te import Tensor, compute, placeholder, reduce_axis
from compiler.te.knobs import knob
from compiler.te.schedule import Sketch
from compiler.te.tensor import Reduction
from compiler.templates.accelerator.demand import (
    Copies,
    Demand,
    Output,
    Sums,
    copies,
    cut,
    kernel_length,
    repeated,
    tile_count,
)
from compiler.templates.accelerator.epilogue import Epilogue
from compiler.templates.accelerator.packing import pack_weight
from compiler.templates.accelerator.sharing import stays, tiled
from compiler.templates.pattern import Apply, Operand
from compiler.templates.space import Choices, Floats, Ints, Space, factors
from compiler.templates.template import KernelMatch
from hw.config import HardwareConfig
from hw.topology import MemoryId

__all__ = ["PRODUCT", "Products", "largest_sum"]

PRODUCT = Apply("dense", (Operand("data", INT8, (2,)), Operand("weight", INT8, constant=True)))

_SHARED = ("oc", "n")
"""Axes whose tiles threads may share; best the first that has a tile for each."""


@dataclass(frozen=True, slots=True)
class Products:
    """int8[N, IC, B, K] times the transposed int8[OC, IC, L, K], to int32[N, OC, B, L]."""

    rows: int
    outputs: int
    inputs: int
    batch: int
    lanes: int
    depth: int

    @staticmethod
    def of(found: KernelMatch, config: HardwareConfig) -> Products:
        """Of a match of `PRODUCT`."""
        rows, inputs, *_, batch, depth = found.shape("data")
        outputs = -(-found.match.constant("weight").array.shape[0] // config.block_out)
        return Products(rows, outputs, inputs, batch, config.block_out, depth)

    @staticmethod
    def weight(found: KernelMatch, config: HardwareConfig) -> NDArray[np.generic]:
        """The weight, packed."""
        packed = pack_weight(found.match.constant("weight").array[:, :, None, None], config)
        return packed.reshape(*packed.shape[:2], *packed.shape[-2:])

    @property
    def extents(self) -> dict[str, int]:
        """Of the output's loops over blocks, and of the sum's."""
        return {"oc": self.outputs, "n": self.rows, "ic": self.inputs}

    def sums(self) -> tuple[Tensor, Tensor, Tensor]:
        """The operands and `out_sum`."""
        data = placeholder((self.rows, self.inputs, self.batch, self.depth), INT8, "data")
        weight = placeholder((self.outputs, self.inputs, self.lanes, self.depth), INT8, "weight")
        ic, bi = reduce_axis(self.inputs, "ic"), reduce_axis(self.depth, "bi")

        def element(n: Expr, oc: Expr, b: Expr, bo: Expr) -> Reduction:
            product = te.cast(data[n, ic, b, bi], INT32) * te.cast(weight[oc, ic, bo, bi], INT32)
            return te.sum(product, (ic, bi))

        shape = (self.rows, self.outputs, self.batch, self.lanes)
        return data, weight, compute(shape, element, "out_sum", ("n", "oc", "b", "bo"))

    def space(self) -> Space:
        """Sizes of a tile of the output, and of a step of the sum, in blocks."""
        return Space(
            {
                "threads": (2, 1),
                "along": _SHARED,
                "n": factors(self.rows),
                "oc": factors(self.outputs),
                "ic": factors(self.inputs),
            }
        )

    def tiled(self, *inner: str) -> Sketch:
        """The output's loops: tiles of n and oc, shared by threads; `inner` inside."""
        order = ("n_o", "oc_o", "thread", *inner, "n_i", "oc_i", "b", "bo")
        return tiled(("n", "oc"), _SHARED, order)

    def summed(self, steps: Sketch, *operands: tuple[str, Scope]) -> Sketch:
        """The sum in steps, for each of which its operands are loaded, in this order."""
        steps = (
            steps.split("out_sum", "ic", knob("ic"), ("ic_o", "ic_i"))
            .reorder("out_sum", "ic_o", "n", "oc", "ic_i", "b", "bo", "bi")
            .decompose_reduction("out_sum", "ic_o")
        )
        for name, scope in operands:
            copy = f"out_{name}"
            steps = steps.cache_read(name, ("out_sum",), scope, copy)
            steps = steps.compute_at(copy, "out_sum", "ic_o")
        return steps

    def tensorized(self, steps: Sketch, config: HardwareConfig) -> Sketch:
        """The sum by the array."""
        return steps.tensorize("out_sum", "b", gemm(config).function).tensorize(
            "out_sum_init", "b", fill(config, 0).function
        )

    def usage(self, choices: Choices) -> dict[MemoryId, Ints]:
        """Elements of operands on chip."""
        threads, n, oc, ic = (choices[knob] for knob in ("threads", "n", "oc", "ic"))
        return {MemoryId.INP: threads * n * ic, MemoryId.WGT: threads * oc * ic}

    def tiles(self, choices: Choices) -> dict[str, Ints]:
        """How many along each axis."""
        return {axis: -(-extent // choices[axis]) for axis, extent in self.extents.items()}

    def loads(self, choices: Choices) -> tuple[Copies, Copies]:
        """Of data and weights."""
        tiles = self.tiles(choices)

        def of(memory: MemoryId, axis: str, extent: int, again: Ints) -> Copies:
            whole = (extent, self.inputs)
            parts = cut(whole, (choices[axis], choices["ic"]))
            return copies(memory, ((count * again, box) for count, box in parts), whole)

        return (
            of(MemoryId.INP, "n", self.rows, tiles["oc"]),
            of(MemoryId.WGT, "oc", self.outputs, tiles["n"]),
        )

    def demand(
        self, choices: Choices, epilogue: Epilogue, *more: Copies, planes: int = 0
    ) -> Demand:
        """With passes, or with shifts that bring the bytes of sums into planes one by one.

        Parameters
        ----------
        more
            What is loaded beside operands.
        """
        size, n, oc, ic = self.rows * self.outputs, *(choices[axis] for axis in ("n", "oc", "ic"))
        first = ((planes,), (np.full_like(n, planes),)) if planes else ((), ())
        again = repeated(choices, self.extents)
        return Demand.of(
            Output((*first[0], self.rows, self.outputs), (*first[1], n, oc), len(first[0]) + 1),
            epilogue,
            stays(choices),
            (*(each.times(again) for each in self.loads(choices)), *more),
            again,
            np.maximum(kernel_length(n, oc, ic), kernel_length(n, oc, planes)),
            Sums(self.tiles(choices)["ic"], size * self.inputs, size),
            planes,
        )

    def keys(self, choices: Choices, config: HardwareConfig) -> tuple[Floats, Ints]:
        """Bytes that are loaded from DRAM, and the number of tiles."""
        loads = self.loads(choices)
        traffic = sum(each.elements * config.element_bytes(each.memory) for each in loads)
        return np.asarray(traffic), tile_count(choices, self.extents)


def largest_sum(weight: Constant) -> int:
    """The greatest absolute value that a sum of products with int8 can have."""
    rows = np.abs(weight.array.astype(np.int64)).reshape(len(weight.array), -1)
    return max(1, int(rows.sum(axis=1).max())) * -int(INT8.low)
