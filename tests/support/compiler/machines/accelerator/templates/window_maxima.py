"""Max pools by the definition, window by window."""

from __future__ import annotations

import numpy as np

from tandem.compiler.machines.accelerator.templates.max_pool import MaxPoolWorkload
from tests.support.compiler.machines.accelerator.templates.streams import Array


def window_maxima(values: Array, workload: MaxPoolWorkload) -> Array:
    """The maxima of a max pool, each of the places of its window that lie in the image."""
    places = [
        [
            [
                place
                for k in range(window.kernel)
                if 0
                <= (place := i * window.stride + k * window.dilation - window.before)
                < window.extent
            ]
            for i in range(window.count)
        ]
        for window in workload.windows
    ]
    shape = (*values.shape[:2], *map(len, places), *values.shape[4:])
    found = np.empty(shape, values.dtype)
    for y, rows in enumerate(places[0]):
        for x, columns in enumerate(places[1]):
            found[:, :, y, x] = values[:, :, rows][:, :, :, columns].max(axis=(2, 3))
    return found
