"""Elements of an image that windows need and load, counted axis by axis.

A stride larger than the window skips rows and columns; a window at the edge of a small image has
weights that never meet a pixel. The accelerator reads whole blocks of channels:
padding channels count.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tandem.compiler.operators.window import Window
from tandem.compiler.plan.space import Bools, Ints


def needed_parts(windows: Sequence[Window]) -> tuple[Fraction, Fraction]:
    """The fractions of an image and of the taps that any output reads; one window for each axis."""
    image = taps = Fraction(1)
    for window in windows:
        places, inside = taps_on_data(window)
        image *= Fraction(np.unique(places[inside]).size, window.extent)
        taps *= Fraction(int(inside.any(axis=0).sum()), window.kernel)
    return image, taps


def taps_on_data(window: Window) -> tuple[Ints, Bools]:
    """The positions of all taps of all windows along an axis, [windows, taps], and whether each is
    an element of the image rather than padding."""
    starts = np.arange(window.count) * window.stride - window.before
    places = starts[:, None] + np.arange(window.kernel) * window.dilation
    return places, (places >= 0) & (places < window.extent)


def loaded_elements(window: Window, sizes: Ints) -> Ints:
    """Elements along an axis that all tiles of `sizes` windows load together, without padding: each
    tile loads from its first to its last window."""
    known, places = np.unique(sizes, return_inverse=True)
    reach = (window.kernel - 1) * window.dilation + 1
    totals = []
    for size in known:
        first = np.arange(0, window.count, size)
        low = first * window.stride - window.before
        high = low + (size - 1) * window.stride + reach
        totals.append(np.maximum(0, np.minimum(high, window.extent) - np.maximum(low, 0)).sum())
    return np.array(totals, np.int64)[places]
