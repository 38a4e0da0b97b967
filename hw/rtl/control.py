"""The state machine of a launch: start, run, then done, or drain and stop."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from tandem.hw.faults import Fault
from tandem.hw.registers import NO_INSTRUCTION
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.check import FAULT_BITS
from tandem.hw.storage import INDEX_BITS
from tandem.hw.timing import DEADLOCK_CYCLES


class Control(Block):
    """State machine that starts, monitors and stops the core.

    Members
    -------
    launch, soft_reset, empty
        From the registers; `empty` says that the program has no instructions.
    core_reset, core_start, core_halt
        To the core. The core is reset before every launch and after every stop, when the bus is
        idle; the on-chip memories are not. `core_reset` is a register.
    clear
        A launch is accepted in this cycle.
    complete, tokens_left, stuck, fault, fault_index
        From the core.
    bus_idle, expired, closed, fence
        From and to the bus.
    fenced
        Since the last launch there was a fence.
    starting
        High in the cycle between the launch and `running`, in which the core is reset.
    running
        High from the cycle in which the core starts to the cycle in which it completes or stops.
    draining
        The core is stopping: transfers on the bus are still outstanding.
    done, error
        The launch ends in this cycle: it has completed, or failed and drained.
    error_code, error_index
        Fault that ended the last launch, and its instruction's index; kept until the next launch.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "launch": In(1),
                "soft_reset": In(1),
                "empty": In(1),
                "clear": Out(1),
                "core_reset": Out(1),
                "core_start": Out(1),
                "core_halt": Out(1),
                "complete": In(1),
                "tokens_left": In(1),
                "stuck": In(1),
                "bus_idle": In(1),
                "expired": In(1),
                "closed": In(1),
                "fence": Out(1),
                "fenced": Out(1),
                "fault": In(FAULT_BITS),
                "fault_index": In(INDEX_BITS),
                "starting": Out(1),
                "running": Out(1),
                "draining": Out(1),
                "done": Out(1),
                "error": Out(1),
                "error_code": Out(FAULT_BITS),
                "error_index": Out(INDEX_BITS),
            }
        )

    def build(self, m: Module) -> None:
        idle_cycles = Signal(range(DEADLOCK_CYCLES + 1))
        failed = Signal()

        def stop(fault: Fault | Signal, index: Signal | int) -> None:
            m.d.sync += [self.error_code.eq(fault), self.error_index.eq(index), failed.eq(1)]
            m.next = "DRAIN"

        def launch() -> None:
            m.d.comb += self.clear.eq(1)
            m.d.sync += [
                self.core_reset.eq(1),
                self.error_code.eq(Fault.NONE),
                failed.eq(0),
                self.fenced.eq(0),
                idle_cycles.eq(0),
            ]
            m.next = "RESET"

        launches = self.launch & ~self.closed

        # A stopped core stays stopped until it has been reset.
        m.d.sync += self.core_reset.eq(0)
        m.d.comb += self.core_halt.eq(self.core_reset)
        with m.FSM():
            with m.State("IDLE"):
                with m.If(launches):
                    launch()
            with m.State("RESET"):
                m.d.comb += self.starting.eq(1)
                m.next = "START"
            with m.State("START"):
                m.d.comb += [self.running.eq(1), self.core_start.eq(~self.empty)]
                m.next = "RUN"
                with m.If(self.empty):
                    stop(Fault.NO_FINISH, NO_INSTRUCTION)
            with m.State("RUN"):
                m.d.comb += self.running.eq(1)
                with m.If(self.stuck):
                    m.d.sync += idle_cycles.eq(idle_cycles + 1)
                with m.Else():
                    m.d.sync += idle_cycles.eq(0)
                with m.If(self.fault != Fault.NONE):
                    stop(self.fault, self.fault_index)
                with m.Elif(self.complete & self.tokens_left):
                    stop(Fault.TOKENS_LEFT, NO_INSTRUCTION)
                with m.Elif(self.complete):
                    m.d.comb += self.done.eq(1)
                    m.next = "IDLE"
                with m.Elif(idle_cycles == DEADLOCK_CYCLES):
                    stop(Fault.DEADLOCK, NO_INSTRUCTION)
                with m.Elif(self.soft_reset):
                    m.next = "DRAIN"
            with m.State("DRAIN"):
                m.d.comb += [self.draining.eq(1), self.core_halt.eq(1)]
                with m.If(self.bus_idle):
                    m.d.comb += self.error.eq(failed)
                    m.next = "STOPPED"
                with m.Elif(self.expired | self.soft_reset):
                    # Nothing more is waited for. The bus is idle in the next cycle.
                    m.d.comb += self.fence.eq(1)
                    m.d.sync += self.fenced.eq(1)
            with m.State("STOPPED"):
                # The units' state can be read until the next launch or soft reset.
                m.d.comb += self.core_halt.eq(1)
                with m.If(launches):
                    launch()
                with m.Elif(self.soft_reset | ~failed):
                    m.d.sync += self.core_reset.eq(1)
                    m.next = "IDLE"
