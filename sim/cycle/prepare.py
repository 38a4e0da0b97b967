"""A program prepared for the cycle engine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hw.config import HardwareConfig
from hw.encoding import uop_layout
from hw.isa import Columns, MemoryId, TokenQueue, Unit
from sim.cycle import loads, run
from sim.cycle.pipeline import make_pipeline
from sim.cycle.run import Run
from sim.functional.plan import Plan, make_plan

Ints = npt.NDArray[np.int64]


def make_run(
    config: HardwareConfig,
    columns: Columns,
    address: int,
    bases: Sequence[int],
    memory: npt.NDArray[np.uint8],
    uops: Ints,
) -> Run:
    """The state of a run at launch, on DRAM `memory` and with `uops` in the micro-op memory."""
    plan: Plan = make_plan(config, columns)
    count = len(plan.units)
    first = np.append(plan.first, len(plan.stream))
    ordinal = np.empty(count, np.int64)
    ordinal[plan.stream] = np.arange(len(plan.stream)) - np.repeat(plan.first, np.diff(first))
    word = uop_layout(config)
    per_beat = max(1, 16 // config.bus_bytes)
    dma = np.zeros((len(Unit), loads.FIELDS), np.int64)
    dma[:, loads.INSTRUCTION] = -1
    return Run(
        table=plan.table,
        units=plan.units,
        queues=plan.queues,
        stream=plan.stream,
        first=first,
        ordinal=ordinal,
        address=address,
        element_bytes=np.array([config.element_bytes(memory) for memory in MemoryId], np.int64),
        bases=np.array(bases, np.int64),
        state=np.zeros(run.FIELDS, np.int64),
        times=np.full((run.TIMES, count), -1, np.int64),
        available=np.zeros(count * per_beat + 1, np.int64),
        pushes=np.zeros((len(TokenQueue), count), np.int64),
        dma=dma,
        pipeline=make_pipeline(),
        uops=uops,
        fields=np.array([word["dst"].limits[1], word["src"].lsb, word["src"].limits[1]], np.int64),
        words=memory,
    )
