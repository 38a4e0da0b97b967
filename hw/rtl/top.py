"""Top level of the accelerator: AXI4-Lite slave for control, AXI4 master to memory."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.config import HardwareConfig
from hw.events import EVENT_BITS, RUNNING_BIT, FetchEvent, fetch_bit, unit_bit
from hw.registers import MAGIC, VERSION
from hw.rtl.block import Block, ResetBy
from hw.rtl.control import Control
from hw.rtl.core import Core
from hw.rtl.counters import Counters, counter_names
from hw.rtl.layouts import NO_INSTRUCTION
from hw.rtl.ports import AxiLite, axi_master
from hw.rtl.registers import Registers
from hw.topology import MemoryId, Unit


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
        Events of the previous cycle, laid out as in `hw.events`. For simulators and logic
        analysers; leave unconnected otherwise.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        super().__init__(
            {
                "m_axi": Out(axi_master(config)),
                "s_axi": In(AxiLite()),
                "irq": Out(1),
                "events": Out(EVENT_BITS),
            }
        )

    def build(self, m: Module) -> None:
        config = self._config
        core_reset = Signal()
        core = Core(config)
        m.submodules.core = ResetBy(core_reset, core)
        m.submodules.registers = registers = Registers(config.features)
        m.submodules.control = control = Control()
        m.submodules.counters = counters = Counters()
        wiring.connect(m, core.axi, wiring.flipped(self.m_axi))
        wiring.connect(m, wiring.flipped(self.s_axi), registers.axi)

        m.d.comb += [
            core_reset.eq(control.core_reset),
            core.start.eq(control.core_start),
            core.halt.eq(control.core_halt),
            core.address.eq(registers.instruction_address),
            core.count.eq(registers.instruction_count),
            control.launch.eq(registers.control_set[0]),
            control.soft_reset.eq(registers.control_set[1]),
            control.empty.eq(registers.instruction_count == 0),
            control.complete.eq(core.complete),
            control.tokens_left.eq(core.tokens_left),
            control.stuck.eq(core.stuck),
            control.bus_idle.eq(core.bus_idle),
            control.fault.eq(core.fault),
            control.fault_index.eq(core.fault_index),
            counters.clear.eq(control.starting),
            counters.running.eq(control.running),
            counters.snapshot.eq(registers.control_set[2]),
        ]
        for memory in config.memories:
            name = memory.name.lower()
            m.d.comb += core.bases[name].eq(getattr(registers, f"base_{name}"))
        for unit in Unit:
            name = unit.name.lower()
            status = getattr(core, name)
            wiring.connect(m, status, getattr(counters, f"{name}_status"))
            m.d.sync += [
                # The head of a unit's queue is undefined until an instruction arrives.
                getattr(registers, f"{name}_instruction").eq(
                    Mux(status.active, status.index, NO_INSTRUCTION)
                ),
                getattr(registers, f"{name}_waits").eq(status.waits | status.active << 8),
            ]
        for name in counter_names():
            m.d.comb += getattr(registers, name).eq(getattr(counters, name))
        events = {
            **{unit_bit(unit): getattr(core, unit.name.lower()).events for unit in Unit},
            **{fetch_bit(event): getattr(core, event.name.lower()) for event in FetchEvent},
            RUNNING_BIT: control.running,
        }
        m.d.sync += self.events.eq(Cat(events[bit] for bit in sorted(events)))
        self._identity(m, registers)
        self._status(m, registers, control)

    def _identity(self, m: Module, registers: Registers) -> None:
        """Drive the read-only registers that describe the configuration."""
        config = self._config
        features = sum(1 << feature.bit for feature in config.features)
        m.d.comb += [
            registers.magic.eq(MAGIC),
            registers.version.eq(VERSION),
            registers.shape.eq(
                config.log_batch | config.log_block_in << 8 | config.log_block_out << 16
            ),
            registers.buffers.eq(
                config.log_uop_buffer
                | config.log_inp_buffer << 8
                | config.log_wgt_buffer << 16
                | config.log_acc_buffer << 24
            ),
            registers.bus.eq(
                config.bus_bits | config.address_bits << 16 | (config.longest_burst - 1) << 24
            ),
            registers.features.eq(features),
        ]
        if MemoryId.PAR in config.memories:
            m.d.comb += registers.par_buffer.eq(config.log_par_buffer)

    def _status(self, m: Module, registers: Registers, control: Control) -> None:
        """Drive status, error and interrupt; writing 1 to a pending cause clears the cause."""
        done = Signal()
        error = Signal()
        pending = Signal(2)
        causes = Cat(control.done, control.error)
        with m.If(control.clear):
            m.d.sync += [done.eq(0), error.eq(0)]
        with m.If(control.done):
            m.d.sync += done.eq(1)
        with m.If(control.error):
            m.d.sync += error.eq(1)
        m.d.sync += pending.eq((pending & ~registers.irq_status_set) | causes)
        m.d.comb += [
            registers.status.eq(
                Cat(control.starting | control.running, done, error, control.draining)
            ),
            registers.irq_status.eq(pending),
            self.irq.eq((pending & registers.irq_enable).any()),
            registers.error_code.eq(control.error_code),
            registers.error_instruction.eq(control.error_index),
        ]
