"""What an operator cannot do without: the parts of its operands that some result needs.

A stride larger than the window passes over rows and columns; a window at the edge of a small image
has weights that never meet a pixel. Windows are products of an axis each, so that axes are counted
one by one. The accelerator reads an operand in elements of many channels: those that only fill up
blocks count.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

__all__ = ["touched", "windows_needed"]


def windows_needed(
    extents: Sequence[int],
    results: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    before: Sequence[int],
    dilation: Sequence[int],
) -> tuple[Fraction, Fraction]:
    """The parts of an image and of a window's taps that are needed; a number an axis each."""
    image = taps = Fraction(1)
    axes = zip(extents, results, strides, before, dilation, kernel, strict=True)
    for extent, windows, stride, padding, step, length in axes:
        pixels, used = touched(extent, windows, stride, padding, step, length)
        image *= Fraction(pixels, extent)
        taps *= Fraction(used, length)
    return image, taps


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
    places = [[start + tap * step for start in windows] for tap in range(taps)]
    inside = [[at for at in some if 0 <= at < extent] for some in places]
    return len({at for some in inside for at in some}), sum(map(bool, inside))
