"""The accelerator without control registers, launch control and counters."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from tandem.hw.config import HardwareConfig
from tandem.hw.faults import Fault, FaultSource
from tandem.hw.registers import NO_INSTRUCTION
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.check import FAULT_BITS
from tandem.hw.rtl.compute import ComputeUnit
from tandem.hw.rtl.dispatch import Dispatch
from tandem.hw.rtl.instruction_reader import InstructionReader
from tandem.hw.rtl.layouts import UnitStatus, queued_layout
from tandem.hw.rtl.load import LoadUnit, load_memories
from tandem.hw.rtl.load_dma import bases_layout
from tandem.hw.rtl.ports import BusPort
from tandem.hw.rtl.queue import Queue
from tandem.hw.rtl.scratchpad import Scratchpad
from tandem.hw.rtl.store import StoreUnit
from tandem.hw.rtl.tokens import TokenCounter
from tandem.hw.rtl.widener import Widener
from tandem.hw.storage import INDEX_BITS, storage_of
from tandem.hw.timing import READ_PRIORITY
from tandem.hw.topology import POPS, PUSHES, SIDES, MemoryId, TokenQueue, Unit
from tandem.hw.widening import widening_of


class Core(Block):
    """Fetch, dispatch, three units synchronised by tokens, on-chip memories and AXI4 master.

    Members
    -------
    start, address, count, bases
        Run the `count` instructions at `address`. `count` is above 0.
    bus
        To memory.
    halt
        Start no new transfer.
    complete
        In the previous cycle, FINISH had been executed and no instruction and no transfer was left.
    tokens_left
        In the previous cycle, a token counter was not zero.
    stuck
        Two cycles ago, no instruction was in progress and no instruction could start.
    fault, fault_index
        One fault of the cycle before the last, or `Fault.NONE`, and the index of its instruction.
    fetched, dispatched
        As in `Dispatch`.
    load, compute, store
        The status of each unit.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "address": In(config.address_bits),
                "count": In(INDEX_BITS),
                "bases": In(bases_layout(config)),
                "bus": Out(BusPort(config)),
                "halt": In(1),
                "complete": Out(1),
                "tokens_left": Out(1),
                "stuck": Out(1),
                "fault": Out(FAULT_BITS),
                "fault_index": Out(INDEX_BITS),
                "fetched": Out(1),
                "dispatched": Out(1),
                **{unit.name.lower(): Out(UnitStatus()) for unit in Unit},
            }
        )

    def build(self, m: Module) -> None:
        config = self._config
        m.submodules.reader = reader = InstructionReader(config)
        m.submodules.dispatch = dispatch = Dispatch(config)
        m.submodules.load = load = LoadUnit(config)
        m.submodules.compute = compute = ComputeUnit(config)
        m.submodules.store = store = StoreUnit(config)
        bus = self.bus
        units = (load, compute, store)

        wiring.connect(m, reader.instruction, dispatch.instruction)
        for name, unit in zip(("load", "compute", "store"), units, strict=True):
            stored = storage_of(config)[f"{name}_queue"]
            m.submodules[stored.name] = queue = Queue(queued_layout(), stored.depth)
            wiring.connect(m, getattr(dispatch, name), queue.i)
            wiring.connect(m, queue.o, unit.queue)
            wiring.connect(m, unit.status, wiring.flipped(getattr(self, name)))
            m.d.comb += unit.bases.eq(self.bases)
        clients = {"fetch": reader, "compute": compute, "load": load}
        for client in READ_PRIORITY:
            wiring.connect(m, clients[client].port, wiring.flipped(getattr(bus, client)))
        wiring.connect(m, store.writes, wiring.flipped(bus.writes))
        overflows, counters = self._tokens(m, load, compute, store)
        self._scratchpads(m, load, compute)

        m.d.comb += [
            reader.start.eq(self.start),
            reader.address.eq(self.address),
            reader.count.eq(self.count),
            dispatch.start.eq(self.start),
            dispatch.count.eq(self.count),
            self.fetched.eq(dispatch.fetched),
            self.dispatched.eq(dispatch.dispatched),
            compute.out_enable.eq(store.out_enable),
            compute.out_address.eq(store.out_address),
            store.out_data.eq(compute.out_data),
            compute.halt.eq(self.halt),
            store.halt.eq(self.halt),
            bus.halt.eq(self.halt),
        ]
        # A unit that is not active starts nothing; whether an active one does is known late.
        waiting = Cat(unit.status.active for unit in units).any()
        quiet = Signal(len(units) + 1)
        dispatch_stuck = Signal()
        m.d.sync += [
            self.complete.eq(compute.finished & ~waiting & bus.idle & dispatch.exhausted),
            quiet.eq(Cat(bus.reads_idle, *(unit.status.quiet for unit in units))),
            dispatch_stuck.eq(dispatch.stuck),
            self.stuck.eq(quiet.all() & dispatch_stuck),
            self.tokens_left.eq(Cat(counter.available for counter in counters).any()),
        ]
        self._faults(m, dispatch, compute, overflows)

    def _tokens(
        self, m: Module, load: LoadUnit, compute: ComputeUnit, store: StoreUnit
    ) -> tuple[dict[TokenQueue, tuple[Signal, Signal]], list[TokenCounter]]:
        """Overflow signals, each with the pushing instruction's index, and the token counters."""
        units = {Unit.LOAD: load, Unit.COMPUTE: compute, Unit.STORE: store}
        overflows = {}
        counters = []
        for queue in TokenQueue:
            push_side = SIDES[PUSHES[queue.producer].index(queue)]
            pop_side = SIDES[POPS[queue.consumer].index(queue)]
            producer = getattr(units[queue.producer], push_side)
            consumer = getattr(units[queue.consumer], pop_side)
            m.submodules[f"tokens_{queue.name.lower()}"] = counter = TokenCounter()
            m.d.comb += [
                counter.push.eq(producer.push),
                counter.pop.eq(consumer.pop),
                consumer.available.eq(counter.available),
            ]
            overflows[queue] = (counter.overflow, units[queue.producer].status.end_index)
            counters.append(counter)
        return overflows, counters

    def _scratchpads(self, m: Module, load: LoadUnit, compute: ComputeUnit) -> None:
        """Add the memories INP, WGT and PAR, written by load and read by compute."""
        write, config = load.write, self._config
        widens = MemoryId.WGT_CODES in load_memories(config)
        for index, memory in enumerate(load_memories(config)):
            if memory is MemoryId.WGT_CODES:
                continue
            name = memory.name.lower()
            reads = compute.par_enable if memory is MemoryId.PAR else compute.array_enable
            bits = 8 * config.element_bytes(memory)
            sizes = {"bits": bits, "bank_bits": min(bits, config.bus_bits)}
            if widens and memory is MemoryId.WGT:
                sizes["word_banks"] = widening_of(config).word_banks
            pad = Scratchpad(**sizes, depth=config.depth(memory))
            m.submodules[f"{name}_memory"] = pad
            read = [
                pad.read_enable.eq(reads),
                pad.read_address.eq(getattr(compute, f"{name}_address")),
                getattr(compute, f"{name}_data").eq(pad.read_data),
            ]
            if widens and memory is MemoryId.WGT:
                m.d.comb += read
                self._widener(m, load, pad)
                continue
            enable = Signal(pad.banks, name=f"{name}_enable")
            m.d.comb += [
                enable.eq((write.pad.replicate(pad.banks)) | (1 << write.bank)),
                pad.write_address.eq(write.address),
                *read,
            ]
            with m.If(write.valid & write.select[index]):
                m.d.comb += pad.write_enable.eq(enable)
            with m.If(~write.pad):
                m.d.comb += pad.write_data.eq(write.data)

    def _widener(self, m: Module, load: LoadUnit, pad: Scratchpad) -> None:
        """Add what writes WGT where weights can be compressed."""
        m.submodules.widener = widener = Widener(self._config, load_memories(self._config))
        wiring.connect(m, load.write, widener.write)
        m.d.comb += [
            widener.set_entry.eq(load.set_entry),
            pad.write_enable.eq(widener.enable),
            pad.write_address.eq(widener.address),
            pad.write_data.eq(widener.data),
        ]

    def _faults(
        self,
        m: Module,
        dispatch: Dispatch,
        compute: ComputeUnit,
        overflows: dict[TokenQueue, tuple[Signal, Signal]],
    ) -> None:
        """Report one fault of the cycle before the last: of several, the last in `FaultSource`."""
        bus = self.bus
        readers = {"compute": compute.status.index, "load": self.load.index}
        indices = [readers.get(client, NO_INSTRUCTION) for client in READ_PRIORITY]
        # Compute reports an index or a shift, in one place.
        of_compute = Mux(compute.bad_shift, Fault.SHIFT, Fault.SRAM_INDEX)
        seen = compute.bad_index | compute.bad_shift
        refused = dispatch.fault != Fault.NONE
        sources: dict[FaultSource, tuple[Value, ValueLike, Value]] = {
            FaultSource.SHIFT: (seen, of_compute, compute.fault_index),
            FaultSource.READ: (
                bus.read_fault | (bus.expired & ~bus.of_write),
                Mux(bus.read_fault, Fault.BUS_READ, Fault.BUS_TIMEOUT),
                Array(indices)[bus.read_client],
            ),
            FaultSource.WRITE: (
                bus.writes.fault | (bus.expired & bus.of_write),
                Mux(bus.writes.fault, Fault.BUS_WRITE, Fault.BUS_TIMEOUT),
                bus.writes.index,
            ),
            FaultSource.DISPATCH: (refused, dispatch.fault, dispatch.fault_index),
        }
        for queue, (full, index) in overflows.items():
            sources[FaultSource.of_queue(queue)] = full, Fault.TOKEN_OVERFLOW, index
        # Each source is registered; the next cycle selects one.
        m.d.sync += self.fault.eq(Fault.NONE)
        for source in sorted(sources):
            happens, fault, index = sources[source]
            name = f"fault_{source.name.lower()}"
            happened = Signal(name=name)
            code = Signal(FAULT_BITS, name=f"{name}_code", reset_less=True)
            place = Signal(INDEX_BITS, name=f"{name}_index", reset_less=True)
            m.d.sync += [happened.eq(happens), code.eq(fault), place.eq(index)]
            with m.If(happened):
                m.d.sync += [self.fault.eq(code), self.fault_index.eq(place)]
