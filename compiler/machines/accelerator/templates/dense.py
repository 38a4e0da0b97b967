"""Dense layers on the GEMM array, and the requantisation of their sums."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.lower.coded_blocks import CodedBlocks
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates import conv2d_pipelined as pipelined
from tandem.compiler.machines.accelerator.templates.coded_packing import StoredWeight, blank_forms
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.templates.conv2d_tiled import (
    loops_of_tiles,
    tensorized,
    tiles_of_sums,
)
from tandem.compiler.machines.accelerator.templates.epilogue import (
    Epilogue,
    EpiloguePass,
)
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.templates.products import (
    PRODUCT,
    SHARED,
    Products,
    choice_of_dense,
    largest_sum,
    of_convolution,
    of_dense,
    product_rank,
    product_space,
    sum_of_loaded,
)
from tandem.compiler.machines.accelerator.templates.requantise_passes import (
    requantise_passes,
    requantise_pattern,
)
from tandem.compiler.machines.accelerator.templates.template import AcceleratorTemplate
from tandem.compiler.machines.accelerator.templates.tiling import unusual_residency
from tandem.compiler.machines.accelerator.templates.work_counts import WorkCounts
from tandem.compiler.plan.schedule_template import Arguments, KernelMatch
from tandem.compiler.plan.space import Choices, Floats, Ints, Space
from tandem.compiler.te import Schedule
from tandem.compiler.te.knobs import Choice, OpenTrace
from tandem.hw.codings import Coding
from tandem.hw.topology import MemoryId

_CONVOLUTION = Conv2dOnArray()


@dataclass(frozen=True, slots=True)
class DenseWorkload:
    """A product of packed int8 tensors, and the passes that requantise the sums to int8."""

    products: Products
    passes: tuple[EpiloguePass, ...]

    @property
    def epilogue(self) -> Epilogue:
        """The passes as an epilogue."""
        return Epilogue(self.passes)

    @property
    def coding(self) -> Coding | None:
        """How the weights lie in DRAM; None for int8."""
        return self.products.coding


class DenseOnArray(AcceleratorTemplate[DenseWorkload]):
    """The convolution of 1x1 of `products`, with the loops::

    for tiles of n, oc:
      for virtual threads:
        reset the tile's sums
        for steps of ic:
          load data, load weights, multiply
        the passes of the epilogue
        store

    Operands for each channel are loaded once and stay on chip (knob `resident`), or are loaded with
    each tile.
    """

    name = "dense"
    patterns = (requantise_pattern(PRODUCT), requantise_pattern(PRODUCT, skip_rank=2))
    array_operand = "data"

    def bind(
        self, found: KernelMatch, machine: AcceleratorTarget
    ) -> tuple[DenseWorkload, Arguments]:
        largest = largest_sum(found.match.constant("weight"))
        passes, numbers = requantise_passes(found, largest, machine.config)
        weight = Products.weight(found, machine.config)
        stored = StoredWeight.of(found, machine.config)
        workload = DenseWorkload(Products.of(found, machine.config, stored.coding), passes)
        tensors = {"weight": weight, **numbers.tensors}
        return workload, Arguments(tensors, numbers.immediates, stored.forms, stored.remark)

    def stored(self, workload: DenseWorkload, machine: AcceleratorTarget) -> dict[str, CodedBlocks]:
        images = workload.products.images()
        return blank_forms(images.weight, images.coding, machine.config)

    def start(self, workload: DenseWorkload, machine: AcceleratorTarget) -> Schedule:
        return _CONVOLUTION.start(workload.products.images(workload.passes), machine)

    def space(self, workload: DenseWorkload, machine: AcceleratorTarget) -> Space:
        return product_space(workload.products, workload.epilogue)

    def wide_space(self, workload: DenseWorkload, machine: AcceleratorTarget) -> Space | None:
        return of_dense(pipelined.space(workload.products.pixels()))

    def schedule(
        self, workload: DenseWorkload, choice: Choice, machine: AcceleratorTarget
    ) -> Schedule:
        if not pipelined.is_pipelined(choice):
            return super().schedule(workload, choice, machine)
        pixels = workload.products.pixels()
        of_pixels = pipelined.settings(pixels, of_convolution(Choices.of([choice])).choice(0))
        settings = {knob: of_pixels[knob] for knob in of_pixels if knob not in ("y", "x")}
        images = workload.products.images(workload.passes)
        trace = pipelined.sketch(images, machine, pixels=("n",))
        return self.start(workload, machine).replay(trace, {**settings, "n": choice["n"]})

    def sketch(self, workload: DenseWorkload, machine: AcceleratorTarget) -> OpenTrace:
        axes = ("n", "oc")
        order = loops_of_tiles(*axes)
        steps = tiles_of_sums(workload.epilogue, axes, SHARED, order, resident="resident")
        steps = sum_of_loaded(steps, ("data", OnChip.INP), ("weight", OnChip.WGT))
        return tensorized(steps, workload.epilogue, machine.config).trace

    def usage(self, workload: DenseWorkload, choices: Choices) -> dict[MemoryId, Ints]:
        pixels = workload.products.pixels(workload.passes)
        return _CONVOLUTION.usage(pixels, of_convolution(choices))

    def work_counts(self, workload: DenseWorkload, choices: Choices) -> WorkCounts:
        pixels = workload.products.pixels(workload.passes)
        return _CONVOLUTION.work_counts(pixels, of_convolution(choices))

    def estimate(self, workload: DenseWorkload, choices: Choices, cost: MachineCost) -> Floats:
        """Ranks by bytes loaded from DRAM, then by the number of tiles; in the wide space,
        estimated cycles."""
        products = workload.products
        if pipelined.is_pipelined(choices):
            pixels = products.pixels(workload.passes)
            return _CONVOLUTION.estimate(pixels, of_convolution(choices), cost)
        usual = unusual_residency(choices, workload.epilogue, products.outputs, cost.config)
        return product_rank(products, choices, cost, usual)

    def wide_choice(
        self, workload: DenseWorkload, choice: Choice, cost: MachineCost
    ) -> Choice | None:
        """That of the convolution over pixels, which estimates the cycles of both."""
        one = of_convolution(Choices.of([choice])).choice(0)
        pixels = workload.products.pixels(workload.passes)
        found = _CONVOLUTION.wide_choice(pixels, one, cost)
        return None if found is None else choice_of_dense(found)
