"""What each unit did in each cycle, from the times of its instructions (rule 10)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tandem.hw.isa import Unit
from tandem.sim.cycle.machine import Machine
from tandem.sim.cycle.state import DISPATCH, END, START, WROTE, Run
from tandem.sim.cycle.stores import MOVING, Stores
from tandem.sim.result import UnitCycles

Ints = npt.NDArray[np.int64]


def unit_cycles(machine: Machine, run: Run, stores: Stores) -> dict[Unit, UnitCycles]:
    """The counters of a finished run."""
    return {unit: _of_unit(machine, run, stores, unit) for unit in Unit}


def _of_unit(machine: Machine, run: Run, stores: Stores, unit: Unit) -> UnitCycles:
    own = run.stream[run.first[unit] : run.first[unit + 1]]
    times = run.times[:, own]
    start, end = times[START], times[END]
    # The last end of the instructions before: an instruction can start before its predecessor ends.
    before = np.maximum.accumulate(np.append(-1, end[:-1])) if len(own) else end
    token = np.maximum(0, start - np.maximum(times[DISPATCH], before) - 1).sum()
    spent = np.maximum(0, end - np.maximum(start - 1, before)).sum()
    if unit is Unit.STORE:
        busy = int(stores.state[MOVING])
    else:
        loads = times[WROTE] >= 0
        delay = machine.out_delay if unit is Unit.COMPUTE else 0
        waits = (end - delay - start - 1 - times[WROTE])[loads].sum()
        busy = int(spent - waits)
    return UnitCycles(busy=busy, token=int(token), memory=int(spent) - busy)
