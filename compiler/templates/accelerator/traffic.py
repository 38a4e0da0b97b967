"""What an operator cannot do without: the parts of its operands that some result needs.

A stride larger than the window passes over rows and columns; a window at the edge of a small image
has weights that never meet a pixel. Windows are products of an axis each, so that axes are counted
one by one. The accelerator reads an operand in elements of many channels: those that only fill up
blocks count.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from compiler.operators.window import Window
from compiler.templates.space import Bools, Ints

__all__ = ["taps_on_data", "windows_needed"]


def windows_needed(windows: Sequence[Window]) -> tuple[Fraction, Fraction]:
    """The parts of an image and of a window's taps that are needed; a window an axis."""
    image = taps = Fraction(1)
    for window in windows:
        places, inside = taps_on_data(window)
        image *= Fraction(np.unique(places[inside]).size, window.extent)
        taps *= Fraction(int(inside.any(axis=0).sum()), window.kernel)
    return image, taps


def taps_on_data(window: Window) -> tuple[Ints, Bools]:
    """Where along an axis each tap of each window lies, [windows, taps], and whether that is an
    element and no padding."""
    starts = np.arange(window.count) * window.stride - window.before
    places = starts[:, None] + np.arange(window.kernel) * window.dilation
    return places, (places >= 0) & (places < window.extent)
