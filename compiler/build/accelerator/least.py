"""What an offloaded kernel cannot do without: the bytes of its operands that some result needs.

A stride larger than the window passes over rows and columns; a window at the edge of a small image
has weights that never meet a pixel. Windows are products of an axis each, so that axes are counted
one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from compiler.build.accelerator.reading import Core, Reading, numbers
from compiler.graph.nodes import Var
from compiler.graph.operators.products import Conv2d
from compiler.graph.operators.reductions import MaxPool

__all__ = ["needed", "touched"]


def needed(reading: Reading) -> Mapping[str, Fraction]:
    """The parts that have to be read of what a kernel reads in windows.

    By the kernel's parameter, or `weight`; everything else is needed whole. The accelerator reads
    an operand in elements of many channels: those that only fill up blocks count.
    """
    parts: dict[str, Fraction] = {}
    for core in reading.cores:
        match core.attributes:
            case Conv2d(strides=strides, padding=padding, dilation=dilation):
                kernel = numbers(core.args[1]).shape[2:]
                windows = [strides, padding[:2], dilation, kernel]
                parts["weight"] = Fraction(1)
            case MaxPool(kernel=kernel, strides=strides, padding=padding, dilation=dilation):
                windows = [strides or (1, 1), (padding or (0, 0))[:2], dilation or (1, 1), kernel]
            case _:
                continue
        data = _operand(core)
        extents = reading.packed_shape(data)[2:4]
        part = Fraction(1)
        axes = zip(extents, reading.shape[2:], *windows, strict=True)
        for extent, results, stride, before, step, taps in axes:
            pixels, used = touched(extent, results, stride, before, step, taps)
            part *= Fraction(pixels, extent)
            if "weight" in parts:
                parts["weight"] *= Fraction(used, taps)
        parts[data] = part
    # What something else in the kernel reads as well, is read whole.
    others = {each for core in reading.cores for each in _names(core)[1:]}
    return {name: Fraction(1) if name in others else part for name, part in parts.items()}


def touched(
    extent: int, results: int, stride: int, before: int, step: int, taps: int
) -> tuple[int, int]:
    """How many of `extent` pixels along an axis some window covers, and how many of a window's
    `taps` ever lie on a pixel.

    Parameters
    ----------
    results
        Windows along the axis.
    before
        Padding before the first pixel.
    step
        From one tap to the next: the dilation.
    """
    windows = range(-before, results * stride - before, stride)
    places = [[at + tap * step for at in windows] for tap in range(taps)]
    inside = [[each for each in some if 0 <= each < extent] for some in places]
    return len({each for some in inside for each in some}), sum(map(bool, inside))


def _names(core: Core) -> list[str]:
    return [each.name for each in core.args if isinstance(each, Var)]


def _operand(core: Core) -> str:
    return _names(core)[0]
