"""Performance counters: the cycles that each unit spends in each state."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from tandem.hw.registers import State
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.layouts import UnitStatus
from tandem.hw.topology import Unit

COUNTER_BITS = 64


def counter_names() -> tuple[str, ...]:
    """Names of the counters in the register map."""
    states = (f"{unit.name.lower()}_{state.value}" for unit in Unit for state in State)
    return ("cycles", *states)


class Counters(Block):
    """Cycle counters, which count while `running`, with a snapshot for consistent reads.

    Members
    -------
    clear
        Set the live counters to zero.
    snapshot
        Copy the live counters to the outputs, as every cycle does while `running` is low.
    load_status, compute_status, store_status
        The units' status.
    cycles and `<unit>_<state>`
        The outputs: the counters at the latest copy.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "clear": In(1),
                "running": In(1),
                "snapshot": In(1),
                **{f"{unit.name.lower()}_status": In(UnitStatus()) for unit in Unit},
                **{name: Out(COUNTER_BITS) for name in counter_names()},
            }
        )

    def build(self, m: Module) -> None:
        # Everything counts a cycle late: the units' states come at the end of long paths.
        running = Signal()
        m.d.sync += running.eq(self.running)
        conditions = {"cycles": running}
        for unit in Unit:
            status = getattr(self, f"{unit.name.lower()}_status")
            for state in State:
                name = f"{unit.name.lower()}_{state.value}"
                happens = Signal(name=f"{name}_happens")
                m.d.sync += happens.eq(self.running & getattr(status, state.value))
                conditions[name] = happens
        for name, happens in conditions.items():
            live = Signal(COUNTER_BITS, name=f"live_{name}")
            with m.If(self.clear):
                m.d.sync += live.eq(0)
            with m.Elif(happens):
                m.d.sync += live.eq(live + 1)
            with m.If(self.snapshot | ~running):
                m.d.sync += getattr(self, name).eq(live)
