"""Matrix products on the GEMM array: the common part of dense layers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from compiler import te
from compiler.graph.constant import Constant
from compiler.ir.buffer import Scope
from compiler.ir.dtypes import INT8, INT32
from compiler.ir.expr import Expr
from compiler.machines.accelerator.intrinsics.base import gemm
from compiler.machines.accelerator.templates.epilogue import Epilogue
from compiler.machines.accelerator.templates.packing import pack_weight
from compiler.machines.accelerator.templates.tiling import (
    resident_operands,
    tensorize_reduction,
    tile_output,
    tile_space,
)
from compiler.machines.accelerator.templates.work_counts import (
    Output,
    ReductionWork,
    TransferCounts,
    WorkCounts,
    kernel_length,
    thread_redundancy,
    tile_count,
    tile_shapes,
    transfers_of,
)
from compiler.plan.pattern import Apply, Operand
from compiler.plan.schedule_template import KernelMatch
from compiler.plan.space import Choices, Floats, Ints, Space
from compiler.te import Tensor, compute, placeholder, reduce_axis
from compiler.te.knobs import knob
from compiler.te.schedule import Sketch
from compiler.te.tensor import Reduction
from hw.config import HardwareConfig
from hw.topology import MemoryId

PRODUCT = Apply("dense", (Operand("data", INT8, (2,)), Operand("weight", INT8, constant=True)))

_SHARED = ("oc", "n")
"""Axes whose tiles threads may share, in the order of preference."""


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
        """The workload of a match of `PRODUCT`."""
        rows, inputs, *_, batch, depth = found.shape("data")
        outputs = -(-found.match.constant("weight").array.shape[0] // config.block_out)
        return Products(rows, outputs, inputs, batch, config.block_out, depth)

    @staticmethod
    def weight(found: KernelMatch, config: HardwareConfig) -> NDArray[np.generic]:
        """The packed weight of a match of `PRODUCT`: int8[OC, IC, L, K]."""
        packed = pack_weight(found.match.constant("weight").array[:, :, None, None], config)
        return packed.reshape(*packed.shape[:2], *packed.shape[-2:])

    @property
    def extents(self) -> dict[str, int]:
        """Loop extents: blocks of outputs, rows, and blocks of summed inputs."""
        return {"oc": self.outputs, "n": self.rows, "ic": self.inputs}

    def expressions(self) -> tuple[Tensor, Tensor, Tensor]:
        """The tensors of data, weight and `out_sum`."""
        data = placeholder((self.rows, self.inputs, self.batch, self.depth), INT8, "data")
        weight = placeholder((self.outputs, self.inputs, self.lanes, self.depth), INT8, "weight")
        ic, bi = reduce_axis(self.inputs, "ic"), reduce_axis(self.depth, "bi")

        def element(n: Expr, oc: Expr, b: Expr, bo: Expr) -> Reduction:
            product = te.cast(data[n, ic, b, bi], INT32) * te.cast(weight[oc, ic, bo, bi], INT32)
            return te.sum(product, (ic, bi))

        shape = (self.rows, self.outputs, self.batch, self.lanes)
        return data, weight, compute(shape, element, "out_sum", ("n", "oc", "b", "bo"))

    def space(self, epilogue: Epilogue) -> Space:
        """The knobs: sizes of an output tile and of a step of the sum, in blocks."""
        extents = {"n": self.rows, "oc": self.outputs, "ic": self.inputs}
        return tile_space(_SHARED, extents, epilogue)

    def tile_output(self, *inner: str) -> Sketch:
        """The output's loops over tiles of n and oc, which threads share, with the loops `inner`
        inside `thread`."""
        order = ("n_o", "oc_o", "thread", *inner, "n_i", "oc_i", "b", "bo")
        return tile_output(("n", "oc"), _SHARED, order)

    def split_sum(self, steps: Sketch, *operands: tuple[str, Scope]) -> Sketch:
        """Splits the sum into steps; each step loads its operands in the order of `operands`."""
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

    def tensorize(self, steps: Sketch, config: HardwareConfig) -> Sketch:
        """Tensorizes the sum and its reset with GEMM instructions."""
        return tensorize_reduction(steps, "out_sum", gemm(config).function, config)

    def usage(self, choices: Choices) -> dict[MemoryId, Ints]:
        """Elements of INP and WGT that the operands take."""
        threads, n, oc, ic = (choices[knob] for knob in ("threads", "n", "oc", "ic"))
        return {MemoryId.INP: threads * n * ic, MemoryId.WGT: threads * oc * ic}

    def tiles(self, choices: Choices) -> dict[str, Ints]:
        """Number of tiles along each axis."""
        return {axis: -(-extent // choices[axis]) for axis, extent in self.extents.items()}

    def loads(self, choices: Choices) -> tuple[TransferCounts, TransferCounts]:
        """The LOADs of data and of weights."""
        tiles = self.tiles(choices)

        def of(memory: MemoryId, axis: str, extent: int, redundancy: Ints) -> TransferCounts:
            whole = (extent, self.inputs)
            parts = tile_shapes(whole, (choices[axis], choices["ic"]))
            return transfers_of(memory, ((count * redundancy, box) for count, box in parts), whole)

        return (
            of(MemoryId.INP, "n", self.rows, tiles["oc"]),
            of(MemoryId.WGT, "oc", self.outputs, tiles["n"]),
        )

    def work_counts(
        self, choices: Choices, epilogue: Epilogue, *more: TransferCounts, planes: int = 0
    ) -> WorkCounts:
        """The work with an epilogue's passes, or with shifts that bring the bytes of sums into
        planes one by one; `more` is loaded beside operands and passes' operands."""
        size, n, oc, ic = self.rows * self.outputs, *(choices[axis] for axis in ("n", "oc", "ic"))
        first = ((planes,), (np.full_like(n, planes),)) if planes else ((), ())
        redundancy = thread_redundancy(choices, self.extents)
        return WorkCounts.of(
            Output((*first[0], self.rows, self.outputs), (*first[1], n, oc), len(first[0]) + 1),
            epilogue,
            resident_operands(choices),
            (*(load.times(redundancy) for load in self.loads(choices)), *more),
            redundancy,
            np.maximum(kernel_length(n, oc, ic), kernel_length(n, oc, planes)),
            ReductionWork(self.tiles(choices)["ic"], size * self.inputs, size),
            planes,
        )

    def cost_keys(self, choices: Choices, config: HardwareConfig) -> tuple[Floats, Ints]:
        """Bytes that are loaded from DRAM, and the number of tiles: for `rank_by`."""
        loads = self.loads(choices)
        traffic = sum(load.elements * config.element_bytes(load.memory) for load in loads)
        return np.asarray(traffic), tile_count(choices, self.extents)


def largest_sum(weight: Constant) -> int:
    """The largest absolute value of a sum of products with any int8 data."""
    rows = np.abs(weight.array.astype(np.int64)).reshape(len(weight.array), -1)
    return max(1, int(rows.sum(axis=1).max())) * -int(INT8.low)
