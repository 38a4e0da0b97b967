"""Memories of the accumulators: ACC, its optional second copy, and OUT, its low bytes."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import In, Member, Out

from tandem.hw.config import ACC_BYTES, HardwareConfig
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.load_dma import WritePort
from tandem.hw.rtl.scratchpad import OnChipMemory
from tandem.hw.topology import LOADED_BY, MemoryId, Unit

COMPUTE_MEMORIES = LOADED_BY[Unit.COMPUTE]
LANE_BITS = 8 * ACC_BYTES
BYTE = 8


def bank_lanes(config: HardwareConfig) -> int:
    """The values of an accumulator in one bank of ACC: the part of an element that a beat fills."""
    return min(config.acc_lanes, config.bus_bits // LANE_BITS)


def write_layout(config: HardwareConfig) -> StructLayout:
    """A write of ACC without its data: an enable for each bank, and the address."""
    banks = config.acc_lanes // bank_lanes(config)
    return StructLayout({"enable": banks, "address": config.index_bits(MemoryId.ACC)})


class Accumulator(Block):
    """Memory of the accumulators, in one or two full copies and a copy of the low bytes.

    Block RAM has one write and one read port. A micro-op with two operands from ACC needs two
    reads: in one cycle, if ACC is kept twice (`acc_read_ports` 2), else one after the other. A
    STORE must never compete with those reads, so the low bytes are also kept as OUT. Every write
    goes to all copies.

    Where results are requantised, OUT is elsewhere (`hw.rtl.out_memory`).

    Members
    -------
    dst_enable, dst_address, dst_data; src_*
        Reads of a micro-op's two operands, a cycle later; with one read port never in one cycle.
    out_enable, out_address, out_data
        Read port of OUT, with a latency of one cycle. Only where results are not requantised.
    write, low
        This cycle's write; the low byte of every value that it writes. Only where results are
        requantised.
    write_enable, write_address, write_data
        A whole element from the lanes.
    dma
        Banks of an element from DRAM, with 32 or 8 bits a value. Never with `write_enable`.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        bits = LANE_BITS * config.acc_lanes
        index = config.index_bits(MemoryId.ACC)
        self._bank_bits = LANE_BITS * bank_lanes(config)
        self._banks = bits // self._bank_bits
        self._has_out = MemoryId.PAR not in config.memories
        widths = {"dst": bits, "src": bits} | ({"out": bits // ACC_BYTES} if self._has_out else {})
        ports: dict[str, Member] = {}
        if not self._has_out:
            ports = {"write": Out(write_layout(config)), "low": Out(BYTE * config.acc_lanes)}
        for name, width in widths.items():
            ports[f"{name}_enable"] = In(1)
            ports[f"{name}_address"] = In(index)
            ports[f"{name}_data"] = Out(width)
        super().__init__(
            {
                **ports,
                "write_enable": In(1),
                "write_address": In(index),
                "write_data": In(bits),
                "dma": In(WritePort(config, COMPUTE_MEMORIES)),
            }
        )

    def build(self, m: Module) -> None:
        enable = Signal(self._banks)
        address = Signal(self._config.index_bits(MemoryId.ACC))
        m.d.comb += [
            address.eq(Mux(self.write_enable, self.write_address, self.dma.address)),
            enable.eq(Mux(self.write_enable, ~0, self._dma_enable(m))),
        ]
        data = [self._bank_data(m, bank) for bank in range(self._banks)]
        if self._config.acc_read_ports == 2:
            for name in ("dst", "src"):
                read = getattr(self, f"{name}_enable"), getattr(self, f"{name}_address")
                found = self._copy(m, name, (enable, address, data), read)
                m.d.comb += getattr(self, f"{name}_data").eq(found)
        else:
            address_read = Mux(self.dst_enable, self.dst_address, self.src_address)
            read = self.dst_enable | self.src_enable, address_read
            found = self._copy(m, "only", (enable, address, data), read)
            m.d.comb += [self.dst_data.eq(found), self.src_data.eq(found)]
        low = [_low_bytes(value) for value in data]
        if self._has_out:
            self._mirror(m, enable, address, low)
        else:
            m.d.comb += [
                self.write.enable.eq(enable),
                self.write.address.eq(address),
                self.low.eq(Cat(low)),
            ]

    def _copy(
        self,
        m: Module,
        name: str,
        write: tuple[Value, Value, list[Signal]],
        read: tuple[Value, Value],
    ) -> Value:
        """Add a full copy of ACC with one read port; returns the data of the last cycle's read."""
        enable, address, data = write
        memory = OnChipMemory(
            bits=self._bank_bits * self._banks,
            depth=self._config.depth(MemoryId.ACC),
            grain=self._bank_bits,
        )
        m.submodules[f"{name}_copy"] = memory
        m.d.comb += [
            memory.write_enable.eq(enable),
            memory.write_address.eq(address),
            memory.write_data.eq(Cat(data)),
            memory.read_enable.eq(read[0]),
            memory.read_address.eq(read[1]),
        ]
        return memory.read_data

    def _mirror(self, m: Module, enable: Value, address: Value, low: list[Value]) -> None:
        """Add OUT, which stores the low byte of every value that lanes or DMA write to ACC."""
        memory = OnChipMemory(
            bits=BYTE * self._config.acc_lanes,
            depth=self._config.depth(MemoryId.OUT),
            grain=self._bank_bits // ACC_BYTES,
        )
        m.submodules.out_copy = memory
        m.d.comb += [
            memory.write_enable.eq(enable),
            memory.write_address.eq(address),
            memory.write_data.eq(Cat(low)),
            memory.read_enable.eq(self.out_enable),
            memory.read_address.eq(self.out_address),
            self.out_data.eq(memory.read_data),
        ]

    def _dma_enable(self, m: Module) -> Signal:
        """Write enables of the DMA: the banks of one beat, or all banks for padding."""
        dma = self.dma
        wide = dma.select[COMPUTE_MEMORIES.index(MemoryId.ACC)]
        narrow = dma.select[COMPUTE_MEMORIES.index(MemoryId.ACC_8BIT)]
        bus = self._config.bus_bytes
        enable = Signal(self._banks, name="dma_enable")
        for index in range(self._banks):
            # Four banks of 32-bit values make one beat of 8-bit values.
            hit_wide = wide & (dma.bank == index)
            hit_narrow = narrow & (dma.bank == index // ACC_BYTES)
            if self._config.element_bytes(MemoryId.ACC) <= bus:
                hit_wide = wide
            if self._config.element_bytes(MemoryId.ACC_8BIT) <= bus:
                hit_narrow = narrow
            m.d.comb += enable[index].eq(
                dma.valid & (Mux(dma.pad, wide | narrow, hit_wide | hit_narrow))
            )
        return enable

    def _bank_data(self, m: Module, bank: int) -> Signal:
        """Write data of one bank: from the lanes, from a beat, or zero."""
        dma = self.dma
        data = Signal(self._bank_bits, name=f"bank_data_{bank}")
        lanes = self._bank_bits // LANE_BITS
        with m.If(self.write_enable):
            m.d.comb += data.eq(self.write_data.word_select(bank, self._bank_bits))
        with m.Elif(dma.pad):
            m.d.comb += data.eq(0)
        with m.Elif(dma.select[COMPUTE_MEMORIES.index(MemoryId.ACC_8BIT)]):
            first = bank * lanes
            widened = [
                dma.data.word_select((first + lane) % self._config.bus_bytes, BYTE).as_signed()
                for lane in range(lanes)
            ]
            for lane, value in enumerate(widened):
                m.d.comb += data.word_select(lane, LANE_BITS).eq(value)
        with m.Else():
            m.d.comb += data.eq(dma.data)
        return data


def _low_bytes(values: Signal) -> Value:
    """The low byte of each value of a bank."""
    return Cat(
        values.word_select(lane, LANE_BITS)[:BYTE] for lane in range(len(values) // LANE_BITS)
    )
