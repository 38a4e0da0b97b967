"""Windows of images of few channels as channels of other images, which the host packs (im2col).

Whole windows leave a convolution of 1x1 and the fewest products, and each pixel is in DRAM once for
each window that reads it. Windows of as many rows as the stride have each row of the image once: a
convolution over the rows of these is left, which reads them again on chip. With three channels,
7x7 taps and a stride of two that is 48 bytes for a window of 2x7 in place of 160, and twelve
products in place of ten.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Atom, Call, Let, Var
from tandem.compiler.graph.operators.layouts import PackWindows
from tandem.compiler.graph.operators.products import Conv2d
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.operators.blocks import blocks
from tandem.compiler.plan.pattern import WIDEN, Match
from tandem.compiler.plan.schedule_template import HostPacking, Shapes

_BYTE_CYCLES = 4
"""Cycles in which a small processor copies a byte of a window, at least; of the array's clock."""


def window_packings(
    match: Match, shapes: Shapes, machine: AcceleratorTarget
) -> tuple[HostPacking, ...]:
    """How the host may pack the image of a matched convolution: whole windows, then rows of them.

    None where the blocks of channels are as full without, or where a small processor takes longer
    to pack windows than the array saves. Rows only where fewer bytes are read then: not of weights
    that are codes, whose order in DRAM whole windows keep.
    """
    given = match.attributes("conv2d", Conv2d)
    weight, block = match.constant("weight").array, machine.config.block_in
    outputs, channels, *kernel = weight.shape
    taps = prod(kernel)
    if given.groups != 1 or blocks(channels * taps, block) >= blocks(channels, block) * taps:
        return ()
    saved = blocks(channels, block) * taps - blocks(channels * taps, block)
    saved *= blocks(outputs, machine.config.block_out)
    if machine.small_host:
        too_slow = channels * taps * _BYTE_CYCLES > saved
        return () if too_slow else (_whole_windows(match, given, machine),)
    rows = _rows_of_windows(match, given, shapes, machine)
    return (_whole_windows(match, given, machine), *rows)


def _whole_windows(match: Match, given: Conv2d, machine: AcceleratorTarget) -> HostPacking:
    """For a convolution of 1x1 over the pixels of windows."""
    weight = match.constant("weight").array
    outputs, _, *kernel = weight.shape
    packing = PackWindows(
        tuple(kernel),
        machine.config.batch,
        machine.config.block_in,
        given.strides,
        given.padding,
        given.dilation,
    )
    widening: tuple[Let, ...] = ()
    if "weight" in match.codes:
        flat: Atom = _convolution(match).args[1]
        widening = (replace(match.let(WIDEN), value=match.codes["weight"].flattened.call),)
    else:
        flat = Constant(np.ascontiguousarray(weight.reshape(outputs, -1, 1, 1)))
    return _packed(match, given, packing, flat, widening)


def _rows_of_windows(
    match: Match, given: Conv2d, shapes: Shapes, machine: AcceleratorTarget
) -> tuple[HostPacking, ...]:
    """For a convolution over the rows of windows that are as high as the stride; none unless it
    reads fewer bytes than whole windows are."""
    weight, block = match.constant("weight").array, machine.config.block_in
    outputs, channels, tall, wide = weight.shape
    rows, (top, left, bottom, right) = given.strides[0], given.padding
    parts = blocks(tall, rows)
    if parts == 1 or given.dilation[0] != 1 or "weight" in match.codes:
        return ()
    height = shapes(match.variable("data"))[2]
    count = (height + top + bottom - tall) // rows + 1
    packed = count + parts - 1
    whole = count * blocks(channels * tall * wide, block)
    if packed * blocks(channels * rows * wide, block) >= whole:
        return ()
    # The rows that the last part has beyond the kernel are zeros in the weight, whatever they read.
    below = max(0, packed * rows - top - height)
    packing = PackWindows(
        (rows, wide),
        machine.config.batch,
        block,
        given.strides,
        (top, left, below, right),
        given.dilation,
    )
    taller = np.zeros((outputs, channels, parts * rows, wide), weight.dtype)
    taller[:, :, :tall] = weight
    by_part = taller.reshape(outputs, channels, parts, rows, wide).transpose(0, 1, 3, 4, 2)
    flat = Constant(np.ascontiguousarray(by_part.reshape(outputs, -1, parts, 1)))
    return (_packed(match, given, packing, flat, ()),)


def _packed(
    match: Match, given: Conv2d, packing: PackWindows, weight: Atom, widening: tuple[Let, ...]
) -> HostPacking:
    """The convolution of a match over the packed image, whose windows have no gaps or padding."""
    plain = replace(given, strides=(1, 1), padding=(0, 0, 0, 0), dilation=(1, 1))
    data = Var(match.variable("data"))
    call = Call(_convolution(match).callee, (data, weight), plain)
    first = replace(match.let("conv2d"), value=call)
    return HostPacking("windows", "pack_windows", packing, (*widening, first))


def _convolution(match: Match) -> Call:
    """The call of the convolution."""
    found = match.let("conv2d").value
    assert isinstance(found, Call), "matched"
    return found
