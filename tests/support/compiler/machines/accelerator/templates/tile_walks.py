"""What convolutions load, by a walk over all tiles."""

from __future__ import annotations

from functools import cache
from itertools import product
from math import prod
from typing import Any

from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.work_counts import loads_of_box


def spans(extent: int, size: int) -> list[range]:
    return [range(at, min(at + size, extent)) for at in range(0, extent, size)]


@cache
def load_count(*box_and_whole: int) -> float:
    box, whole = box_and_whole[:3], box_and_whole[3:]
    return float(loads_of_box(box, whole))


def pixels(of: Conv2dWorkload, axis: int, outputs: range, size: int) -> tuple[int, int]:
    """Rows or columns that a tile loads, and those of the largest LOAD for tiles so long."""
    reach = (of.weight[2 + axis] - 1) * of.dilation[axis]
    low = outputs[0] * of.strides[axis] - of.padding[axis]
    # Windows at the end are loaded as if their tile were whole.
    last = low + (size - 1) * of.strides[axis] + reach
    inside = of.data[2 + axis]
    window = (len(outputs) - 1) * of.strides[axis] + reach + 1
    return len(range(max(low, 0), min(last + 1, inside))), min(window, inside)


def walked(of: Conv2dWorkload, row: dict[str, Any]) -> tuple[list[float], list[float]]:
    """Elements and LOADs of weights and of the image, tile by tile and step by step."""
    outputs, depth, own = of.weight[0], of.weight[1], of.weight[0] // of.groups
    weights, image = [0.0, 0.0], [0.0, 0.0]
    seen = set()
    loops = product(*(spans(of.extents[axis], row[axis]) for axis in ("oc", "y", "x")))
    for n, (oc, y, x) in product(range(of.data[0]), [*loops]):
        groups = [*range(oc[0] // own, oc[-1] // own + 1)]
        kept = {"weights": ("weights", n, oc), "image": ("image", n, y, x)}.get(row["order"])
        fresh = kept not in seen or kept is None
        seen.add(kept)
        if row["order"] != "weights" or fresh:
            for ic in spans(depth, row["ic"]):
                weights[0] += len(oc) * len(ic) * of.taps
                weights[1] += load_count(len(oc), len(ic), of.taps, outputs, depth, of.taps)
        if row["order"] != "image" or fresh:
            if row["order"] == "image":
                groups = [*range(of.groups)]
            sizes = [pixels(of, 0, y, row["y"]), pixels(of, 1, x, row["x"])]
            area, box = prod(a for a, _ in sizes), [b for _, b in sizes]
            blocks = [
                # A step goes on into the next group, where there is one.
                len(ic) if group == of.groups - 1 else row["ic"]
                for group in groups
                for ic in spans(depth, row["ic"])
            ]
            image[0] += area * sum(blocks)
            if len(groups) > 1:
                blocks = [depth * len(groups)]
            image[1] += sum(load_count(each, *box, *of.data[1:4]) for each in blocks)
    return weights, image
