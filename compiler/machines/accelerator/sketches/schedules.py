"""The two schedules of a product, with open knobs.

`tiled`: tiles of the result that virtual threads share; an operand may stay on chip, loaded in an
outer loop for the whole sum.

::

    for tiles:
      for virtual threads:
        for steps of terms:
          load weights, load a part of the image, multiply
        the passes
        store

`slotted`: one thread; operands and sums have several slots, and weights, products, passes and
STOREs are those of parts of a tile.

::

    for tiles:
      for steps of terms:
        load a part of the image
        for rows of taps, parts:
          load weights, multiply
          in the last step, the passes, and store

Axes are those that the expression has; which operand they belong to says how loops are ordered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.sketches.product import ArrayProduct
from tandem.compiler.te.knobs import OpenTrace, knob
from tandem.compiler.te.schedule import Sketch

STEPS: Final = "steps"
WEIGHT: Final = "weight"
IMAGE: Final = "image"
"""The settings of the knob `stays`: each step loads both operands, or one of them stays."""
PART: Final = "part"
"""The knob of parts of a tile, which choices of `slotted` alone have."""


def orders(product: ArrayProduct) -> dict[str, tuple[str, ...]]:
    """The axes with tiles, outermost first, by the operand that stays."""
    both = [axis for axis in product.axes if _in(product, axis) == (True, True)]
    weight = [axis for axis in product.axes if _in(product, axis) == (False, True)]
    image = [axis for axis in product.axes if axis not in both and axis not in weight]
    of_weight, of_image = (*both, *weight, *image), (*both, *image, *weight)
    return {STEPS: of_weight, WEIGHT: of_weight, IMAGE: of_image}


def kept_at(product: ArrayProduct) -> dict[str, str | None]:
    """The axis in whose loop over tiles an operand that stays is loaded; None before all loops."""
    found: dict[str, str | None] = {}
    for stays, axes in ((WEIGHT, product.of_weight), (IMAGE, product.of_image)):
        inside = [axis for axis in orders(product)[stays] if axis in axes]
        found[stays] = inside[-1] if inside else None
    return found


def _in(product: ArrayProduct, axis: str) -> tuple[bool, bool]:
    return axis in product.of_image, axis in product.of_weight


def tiled(product: ArrayProduct) -> OpenTrace:
    """The knobs: a tile's size along each axis and of a step, `threads`, `along`, `stays`."""
    sums = product.sums.stage
    loops = {stays: _loops(product, order) for stays, order in orders(product).items()}
    steps = _with_passes(_tiles(product, loops), product)
    steps = _steps(steps, product).reorder(
        sums,
        f"{product.steps}_o",
        *product.inner,
        f"{product.steps}_i",
        *product.taps,
        *_tile(product),
    )
    steps, image = _image(steps, product)
    weight = f"{sums}_weight"
    steps = steps.cache_read(product.sums.weight, (sums,), OnChip.WGT, weight)
    kept = kept_at(product)
    # Weights first: they are constant, while the previous operator may still store the image.
    for copy, stays in ((weight, WEIGHT), (image, IMAGE)):
        at_steps = Sketch().compute_at(copy, sums, f"{product.steps}_o")
        others = tuple(each for each in (STEPS, WEIGHT, IMAGE) if each != stays)
        steps = steps.when("stays", others, at_steps)
        axis = kept[stays]
        if axis is not None:
            kept_outside = Sketch().compute_at(copy, product.result, f"{axis}_o")
            steps = steps.when("stays", (stays,), kept_outside)
    return _tensorized(steps, product).trace


def slotted(product: ArrayProduct, axis: str) -> OpenTrace:
    """The knobs: those of `tiled`, with one thread; `part`, of a tile's size along an axis that
    weights alone are read along; a row of taps; and numbers of slots.

    Parameters
    ----------
    axis
        The product's `weight_axis`.
    """
    sums, result = product.sums.stage, product.result
    found = orders(product)
    names = {"outputs": found[WEIGHT], "pixels": found[IMAGE]}
    loops = {order: _loops(product, axes) for order, axes in names.items()}
    steps = _steps(_with_passes(_tiles(product, loops, "order"), product), product)
    rows: tuple[str, ...] = ()
    if product.taps:
        tap = product.taps[0]
        steps = steps.split(sums, tap, knob(tap), (f"{tap}_o", tap))
        rows = (f"{tap}_o",)
    part = "part"
    steps = (
        steps.split(sums, axis, knob(PART), (part, axis))
        .reorder(
            sums,
            f"{product.steps}_o",
            *rows,
            part,
            *product.inner,
            f"{product.steps}_i",
            *product.taps,
            *_tile(product),
        )
        .multi_buffer(sums, knob("sum_slots"))
    )
    for one in product.passes:
        steps = (
            steps.split(one.stage, axis, knob(PART), (part, axis))
            .reorder(one.stage, part, *product.inner, *product.accumulator)
            .eager(one.stage, part)
            .multi_buffer(one.stage, knob("sum_slots"))
        )
    inside = f"{axis}_i" if axis in product.axes else axis
    steps = (
        steps.split(result, inside, knob(PART), (part, inside))
        .reorder(result, part, *_in_tile(product), *product.accumulator)
        .eager(result, part)
    )
    steps, image = _image(steps, product)
    weight = f"{sums}_weight"
    steps = (
        steps.cache_read(product.sums.weight, (sums,), OnChip.WGT, weight)
        .compute_at(weight, sums, part)
        .compute_at(image, sums, f"{product.steps}_o")
        .multi_buffer(weight, knob("weight_slots"))
        .multi_buffer(image, knob("image_slots"))
    )
    return _tensorized(steps, product).trace


def _tile(product: ArrayProduct) -> tuple[str, ...]:
    """The loops of an instruction of the sums."""
    return (*product.accumulator, product.sums.term)


def _in_tile(product: ArrayProduct) -> tuple[str, ...]:
    """The result's loops within a tile."""
    return tuple(f"{axis}_i" if axis in product.axes else axis for axis in product.inner)


def _loops(product: ArrayProduct, order: tuple[str, ...]) -> tuple[str, ...]:
    tiles = (f"{axis}_o" for axis in order)
    return (*tiles, "thread", *_in_tile(product), *product.accumulator)


def _tiles(
    product: ArrayProduct, loops: Mapping[str, tuple[str, ...]], name: str = "stays"
) -> Sketch:
    result, steps = product.result, Sketch()
    for axis in product.axes:
        steps = steps.split(result, axis, knob(axis), (f"{axis}_o", f"{axis}_i"))
    outer = knob("along", {axis: f"{axis}_o" for axis in product.axes})
    names = knob("along", {axis: (f"{axis}_o", "thread") for axis in product.axes})
    return (
        steps.split(result, outer, knob("threads"), names)
        .reorder(result, knob(name, loops))
        .virtual_thread(result, "thread")
    )


def _steps(steps: Sketch, product: ArrayProduct) -> Sketch:
    axis = product.steps
    return steps.split(product.sums.stage, axis, knob(axis), (f"{axis}_o", f"{axis}_i"))


def _with_passes(steps: Sketch, product: ArrayProduct) -> Sketch:
    """Passes at the loop `thread`, and the sums; operands in ACC and PAR before all loops, those in
    INP with a tile, behind the sums, so that the next tile's loads need not wait for its passes."""
    result = product.result
    for one in reversed(product.passes):
        steps = steps.set_scope(one.stage, OnChip.ACC).compute_at(one.stage, result, "thread")
    readers: dict[tuple[str, str], list[str]] = {}
    for one in product.passes:
        for name, scope in one.inputs.items():
            readers.setdefault((name, scope.value), []).append(one.stage)
    of_tiles = []
    for one in product.passes:
        for name, scope in one.inputs.items():
            key = name, scope.value
            if key not in readers:
                continue
            copy = f"{name}_{scope.value}"
            stages = tuple(readers.pop(key))
            if scope == OnChip.INP:
                of_tiles.append((name, stages, copy))
            else:
                steps = steps.cache_read(name, stages, scope, copy)
    steps = steps.set_scope(product.sums.stage, OnChip.ACC)
    steps = steps.compute_at(product.sums.stage, result, "thread")
    for name, stages, copy in of_tiles:
        steps = steps.cache_read(name, stages, OnChip.INP, copy).compute_at(copy, result, "thread")
    return steps


def _image(steps: Sketch, product: ArrayProduct) -> tuple[Sketch, str]:
    """The image in INP, as a stage of padding or a copy; and that stage's name."""
    image, sums = product.sums.image, product.sums.stage
    if product.padded:
        return steps.set_scope(image, OnChip.INP), image
    copy = f"{sums}_image"
    return steps.cache_read(image, (sums,), OnChip.INP, copy), copy


def _tensorized(steps: Sketch, product: ArrayProduct) -> Sketch:
    row = product.accumulator[0]
    for one in product.passes:
        if one.intrinsic is not None:
            steps = steps.tensorize(one.stage, row, one.intrinsic)
    found = product.sums
    return steps.tensorize(found.stage, row, found.intrinsic, found.initialise)
