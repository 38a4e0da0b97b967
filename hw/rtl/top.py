"""Top level of the accelerator: AXI4-Lite slave for control, AXI4 master to memory."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from tandem.hw.config import HardwareConfig
from tandem.hw.events import EVENT_BITS, RUNNING_BIT, FetchEvent, fetch_bit, unit_bit
from tandem.hw.registers import NO_INSTRUCTION, Interrupt
from tandem.hw.rtl.axi_lite import AxiLiteSlave
from tandem.hw.rtl.block import Block, ResetBy
from tandem.hw.rtl.bus import Bus
from tandem.hw.rtl.control import Control
from tandem.hw.rtl.core import Core
from tandem.hw.rtl.counters import Counters, counter_names
from tandem.hw.rtl.ports import AxiLite, axi_master
from tandem.hw.rtl.register_file import RegisterFile
from tandem.hw.topology import Unit


class Accelerator(Block):
    """The whole design, in clock domain `sync`.

    Members
    -------
    m_axi
        AXI4 master, to memory.
    s_axi
        AXI4-Lite slave, the registers of `hw.registers`.
    irq
        The interrupt: high while an enabled cause is pending.
    events
        Events of the previous cycle, laid out as in `hw.events`, unless the argument `events` is
        false. For simulators and logic analysers; leave unconnected otherwise.
    """

    def __init__(self, config: HardwareConfig, *, events: bool = True) -> None:
        self._config = config
        self._has_events = events
        super().__init__(
            {
                "m_axi": Out(axi_master(config)),
                "s_axi": In(AxiLite()),
                "irq": Out(1),
                **({"events": Out(EVENT_BITS)} if events else {}),
            }
        )

    def build(self, m: Module) -> None:
        config = self._config
        core_reset = Signal()
        core = Core(config)
        m.submodules.core = ResetBy(core_reset, core)
        m.submodules.slave = slave = AxiLiteSlave()
        m.submodules.registers = registers = RegisterFile(config)
        m.submodules.control = control = Control()
        m.submodules.counters = counters = Counters()
        m.submodules.bus = bus = Bus(config)
        wiring.connect(m, core.bus, bus.core)
        wiring.connect(m, bus.axi, wiring.flipped(self.m_axi))
        wiring.connect(m, wiring.flipped(self.s_axi), slave.axi)
        wiring.connect(m, slave.port, registers.port)

        m.d.comb += [
            core_reset.eq(control.core_reset),
            core.start.eq(control.core_start),
            core.halt.eq(control.core_halt),
            core.address.eq(registers.instruction_address),
            core.count.eq(registers.instruction_count),
            control.launch.eq(registers.control_set.launch),
            control.soft_reset.eq(registers.control_set.soft_reset),
            control.empty.eq(registers.instruction_count == 0),
            control.complete.eq(core.complete),
            control.tokens_left.eq(core.tokens_left),
            control.stuck.eq(core.stuck),
            control.bus_idle.eq(bus.core.idle),
            control.expired.eq(bus.core.expired),
            control.closed.eq(bus.closed),
            bus.fence.eq(control.fence),
            bus.restart.eq(control.core_reset),
            bus.limit.eq(registers.bus_timeout.limit),
            control.fault.eq(core.fault),
            control.fault_index.eq(core.fault_index),
            counters.clear.eq(control.starting),
            counters.running.eq(control.running),
            counters.snapshot.eq(registers.control_set.snapshot),
        ]
        for memory in config.memories:
            if memory.base is not memory:
                continue
            name = memory.name.lower()
            m.d.comb += core.bases[name].eq(getattr(registers, f"base_{name}"))
        for unit in Unit:
            name = unit.name.lower()
            status = getattr(core, name)
            wiring.connect(m, status, getattr(counters, f"{name}_status"))
            waits = getattr(registers, f"{name}_waits")
            m.d.sync += [
                Cat(waits.prev, waits.next).eq(status.waits),
                waits.active.eq(status.active),
                # The head of a unit's queue is undefined until an instruction arrives.
                getattr(registers, f"{name}_instruction").eq(
                    Mux(status.active, status.index, NO_INSTRUCTION)
                ),
            ]
        for name in counter_names():
            m.d.comb += getattr(registers, name).eq(getattr(counters, name))
        events = {
            **{unit_bit(unit): getattr(core, unit.name.lower()).events for unit in Unit},
            **{fetch_bit(event): getattr(core, event.name.lower()) for event in FetchEvent},
            RUNNING_BIT: control.running,
        }
        if self._has_events:
            m.d.sync += self.events.eq(Cat(events[bit] for bit in sorted(events)))
        # The bus itself keeps the address that the register shows.
        with m.If(control.clear):
            m.d.sync += bus.keep.eq(0)
        with m.Elif(control.running & bus.core.expired):
            m.d.sync += bus.keep.eq(1)
        m.d.comb += registers.error_address.eq(Mux(bus.keep, bus.address, 0))
        self._status(m, registers, control)

    def _status(self, m: Module, registers: RegisterFile, control: Control) -> None:
        """Drive status, error and interrupt; writing 1 to a pending cause clears the cause."""
        status = registers.status
        done = Signal()
        error = Signal()
        pending = Signal(registers.irq_status.shape())
        with m.If(control.clear):
            m.d.sync += [done.eq(0), error.eq(0)]
        with m.If(control.done):
            m.d.sync += done.eq(1)
        with m.If(control.error):
            m.d.sync += error.eq(1)
        for cause in Interrupt:
            assert cause.name is not None
            name = cause.name.lower()
            m.d.sync += pending[name].eq(
                pending[name] & ~registers.irq_status_set[name] | getattr(control, name)
            )
        m.d.comb += [
            status.running.eq(control.starting | control.running),
            status.done.eq(done),
            status.error.eq(error),
            status.draining.eq(control.draining),
            status.fenced.eq(control.fenced),
            registers.irq_status.eq(pending),
            self.irq.eq((pending.as_value() & registers.irq_enable.as_value()).any()),
            registers.error_code.eq(control.error_code),
            registers.error_instruction.eq(control.error_index),
        ]
