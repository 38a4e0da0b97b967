"""Performance counters: the cycles that each unit spends in each state."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from hw.registers import State
from hw.rtl.block import Block
from hw.rtl.layouts import UnitStatus
from hw.topology import Unit as Stage

COUNTER_BITS = 64


def counter_names() -> tuple[str, ...]:
    """Names of the counters in the register map."""
    states = (f"{stage.name.lower()}_{state.value}" for stage in Stage for state in State)
    return ("cycles", *states)


class Counters(Block):
    """Cycle counters, which count while `running`, with a snapshot for consistent reads.

    Members
    -------
    clear
        Set the live counters to zero.
    snapshot
        Copy the live counters. While `running` is low they are copied in every cycle.
    load_status, compute_status, store_status
        The units' status.
    cycles and `<unit>_<state>`
        The copied values.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "clear": In(1),
                "running": In(1),
                "snapshot": In(1),
                **{f"{stage.name.lower()}_status": In(UnitStatus()) for stage in Stage},
                **{name: Out(COUNTER_BITS) for name in counter_names()},
            }
        )

    def build(self, m: Module) -> None:
        conditions = {"cycles": self.running}
        for stage in Stage:
            status = getattr(self, f"{stage.name.lower()}_status")
            for state in State:
                happens = self.running & getattr(status, state.value)
                conditions[f"{stage.name.lower()}_{state.value}"] = happens
        for name, happens in conditions.items():
            live = Signal(COUNTER_BITS, name=f"live_{name}")
            with m.If(self.clear):
                m.d.sync += live.eq(0)
            with m.Elif(happens):
                m.d.sync += live.eq(live + 1)
            with m.If(self.snapshot | ~self.running):
                m.d.sync += getattr(self, name).eq(live)
