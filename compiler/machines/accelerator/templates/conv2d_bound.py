"""A lower bound of the exact cycles of a convolution's base choices, by relaxed simulation.

The simulation is that of estimates (`tile_pipeline`); this is the table with the least time that
the timing rules (docs/timing.md) allow every stage. What is left out is the contention of the bus,
and instructions that are counted once where a program may need several.
"""

from __future__ import annotations

import numpy as np

from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.templates.tile_pipeline import simulated
from tandem.compiler.machines.accelerator.templates.tile_stages import StageCosts, TileCosts, ends
from tandem.compiler.machines.accelerator.templates.tiling import resident_operands
from tandem.compiler.machines.accelerator.templates.work_counts import transfers_of
from tandem.compiler.plan.space import Bools, Choices, Floats, Ints
from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import INSTRUCTION_BYTES, gemm_layout
from tandem.hw.timing import CHECK_STAGES, TRANSFER_OVERHEAD, pipeline_depth
from tandem.hw.topology import MemoryId

_END = 5
"""Cycles from the last end of a STORE to the end of the run, at least (rule 9)."""
_ALL = 1 << 62
"""More steps than any program has: bounds are not extrapolated."""


def least_cycles(workload: Conv2dWorkload, choices: Choices, cost: MachineCost) -> Floats:
    """Cycles that no program of these choices can go below; of one group."""
    latency, interval, config = cost.memory.latency, cost.memory.interval, cost.config
    pipeline = pipeline_depth(config)
    stages = StageCosts(
        load=latency + TRANSFER_OVERHEAD + 1 - interval,
        store=0,
        behind_products=pipeline,
        behind_results=pipeline + 1 + 4,
        acknowledged=latency + 1 - interval,
        last=pipeline,
        fine=1,
        longest=_ALL,
    )
    tiles = _tiles(workload, choices, cost, stages.load)
    found = simulated(workload, choices, cost, stages, tiles)
    # Longer kernels are several instructions.
    kernels = np.maximum(workload.kernel_length(choices), choices["oc"])
    return np.where(kernels <= config.depth(MemoryId.UOP), found + _END, 0)


def _tiles(workload: Conv2dWorkload, choices: Choices, cost: MachineCost, alone: int) -> TileCosts:
    """The least that the stages of tiles take; a LOAD takes `alone` beside its data."""
    epilogue, config = workload.epilogue, cost.config

    def load(memory: MemoryId, elements: int) -> int:
        return alone + max(int(cost.beats(memory, elements)), elements)

    # Rule 3: when the first instruction starts.
    beats = -(-INSTRUCTION_BYTES // config.bus_bytes)
    first = cost.memory.latency + TRANSFER_OVERHEAD + (beats - 1) * cost.memory.interval
    first += CHECK_STAGES + 1
    channels = workload.weight[0]
    held = channels if resident_operands(choices).all() else 1
    begin = len(epilogue.channel_operands) * load(MemoryId.ACC, held) + load(MemoryId.UOP, 1)
    parameters = 0
    if epilogue.requantise is not None and epilogue.requantise.resident:
        parameters = load(MemoryId.PAR, channels)
    oc, y, x = ends(workload, choices)
    size, before = oc * y * x, epilogue.operand_passes
    immediate = epilogue.immediate_passes + epilogue.input_operands - before.immediate_passes
    tensor = epilogue.tensor_passes - before.tensor_passes
    passes = immediate * size + tensor * cost.alu(size, tensor_operand=True)
    # Element-wise operands are loaded by compute, in front of a tile's products.
    operands = epilogue.element_operands * (alone + cost.beats(MemoryId.ACC_8BIT, size))
    operands = operands + before.immediate_passes * size
    operands = operands + before.tensor_passes * cost.alu(size, tensor_operand=True)
    # A residual takes a pass, behind which results are stored; which of them is left open.
    early = epilogue.requantise is not None
    return TileCosts(
        begin=(np.full(len(choices), first + begin), np.full(len(choices), first + parameters)),
        before=operands,
        passes=passes * (not early),
        after=passes * early,
        image_loads=_image_loads(workload, choices),
        whole_tile=_one_product(workload, choices, config).astype(np.int64),
        fits=_loops_fit(workload, choices, config).astype(np.int64),
    )


def _image_loads(workload: Conv2dWorkload, choices: Choices) -> Ints:
    """1 where each block of channels of a tile's part of the image is a LOAD of its own, else 0."""
    rows, columns = (
        np.minimum(workload.input_extent(axis, choices[name]), workload.data[2 + axis])
        for axis, name in enumerate(("y", "x"))
    )
    two = np.full_like(rows, 2)
    whole = (2, *workload.data[2:4])
    loads = transfers_of(MemoryId.INP, [(np.ones_like(rows), (two, rows, columns))], whole)
    # Rows with zeros beside them are adjacent neither to each other nor to the next block's.
    top, left, bottom, right = workload.padding
    padded = (choices["x"] >= workload.extents["x"]) & bool(left or right)
    padded &= (rows < workload.data[2]) | bool(top or bottom)
    return np.asarray((loads.instructions >= 2) | padded).astype(np.int64)


def _loops_fit(workload: Conv2dWorkload, choices: Choices, config: HardwareConfig) -> Bools:
    """Whether the loops over a tile fit the fields of both of an instruction's loops."""
    layout, columns = gemm_layout(config), workload.padded[1]
    fits = np.ones(len(choices), np.bool_)
    for way in ("in", "out"):
        for axis in ("oc", "y", "x"):
            fits &= choices[axis] <= layout[f"iter_{way}"].limits[1]
        fits &= choices["ic"] * workload.taps <= layout[f"wgt_factor_{way}"].limits[1]
        fits &= choices["y"] * choices["x"] <= layout[f"dst_factor_{way}"].limits[1]
        fits &= workload.strides[0] * columns <= layout[f"src_factor_{way}"].limits[1]
    return fits


def _one_product(workload: Conv2dWorkload, choices: Choices, config: HardwareConfig) -> Bools:
    """Whether requantised products of a tile are certainly one instruction: its loops have the
    blocks of output channels, as two of the other axes, fused or not, are no longer."""
    oc, y, x, ic = (choices[axis] for axis in ("oc", "y", "x", "ic"))
    tall, wide = workload.weight[2:4]
    pixels = np.maximum((y > oc) * 1 + (x > oc), y * x > oc)
    terms = np.maximum((ic > oc) * 1 + (tall > oc) + (wide > oc), ic * tall * wide > oc)
    fits = _loops_fit(workload, choices, config)
    return np.asarray(fits & (pixels + terms <= 1))
