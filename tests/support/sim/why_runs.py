"""Runs with events, for tests of `sim.why`."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tandem.hw.isa import Program
from tandem.hw.memory_model import MemoryModel
from tandem.sim.engines import run
from tandem.sim.result import Result
from tests.support.sim.reference import Image

MEMORIES = st.builds(
    MemoryModel,
    latency=st.sampled_from((1, 3, 16, 90)),
    interval=st.sampled_from((1, 2, 5)),
    in_flight=st.sampled_from((1, 2, 16)),
)


def run_of(
    program: Program,
    memory: MemoryModel,
    image: Image | None = None,
    *,
    engine: str = "cycle",
    events: bool = True,
) -> Result:
    """The result of a run, on zeros without an image."""
    values = np.zeros(1 << 16, np.uint8) if image is None else image
    result, _ = run(
        program.config, program, values, engine=engine, memory_model=memory, events=events
    )
    return result
