"""The memory OUT of a machine that requantises results on their way there."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hw.config import HardwareConfig
from hw.rtl.accumulator import BYTE, COMPUTE_MEMORIES, LANE_BITS, bank_lanes, write_layout
from hw.rtl.block import Block
from hw.rtl.delay import delayed
from hw.rtl.load_dma import WritePort
from hw.rtl.scratchpad import MemoryBank
from hw.timing import OUT_STAGES
from hw.topology import MemoryId


class OutMemory(Block):
    """OUT, written `OUT_STAGES` cycles after ACC by lanes and LOADs alike, at the same place.

    What a LOAD writes travels beside the requantisers up to their last stage, which takes it in the
    place of requantised bytes: OUT has one write port.

    Members
    -------
    write
        The write of ACC in this cycle.
    dma
        What a LOAD writes to ACC in this cycle. Never with a write from the lanes.
    load, loaded
        For the requantisers' last stage: a LOAD's bytes take the place of theirs.
    value
        What the requantisers give.
    out_enable, out_address, out_data
        Read port, with a latency of one cycle.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        bits = BYTE * config.acc_lanes
        self._bank_bits = min(bits, config.bus_bits)
        super().__init__(
            {
                "write": In(write_layout(config)),
                "dma": In(WritePort(config, COMPUTE_MEMORIES)),
                "load": Out(1),
                "loaded": Out(bits),
                "value": In(bits),
                "out_enable": In(1),
                "out_address": In(config.index_bits(MemoryId.OUT)),
                "out_data": Out(bits),
            }
        )

    def build(self, m: Module) -> None:
        before = OUT_STAGES - 1
        loaded = delayed(m, self._low_bytes(m), before, "loaded")
        copies = len(self.loaded) // self._bank_bits
        m.d.comb += [
            self.load.eq(delayed(m, self.dma.valid, before, "load")),
            self.loaded.eq(loaded.replicate(copies)),
        ]
        address = delayed(m, self.write.address, OUT_STAGES, "address")
        enable = delayed(m, self.write.enable, OUT_STAGES, "enable", reset=True)
        grain = BYTE * bank_lanes(self._config)
        sources = self._bank_bits // grain
        for index in range(copies):
            bank = MemoryBank(
                bits=self._bank_bits, depth=self._config.depth(MemoryId.OUT), grain=grain
            )
            m.submodules[f"bank_{index}"] = bank
            m.d.comb += [
                bank.write_enable.eq(enable.word_select(index, sources)),
                bank.write_address.eq(address),
                bank.write_data.eq(self.value.word_select(index, self._bank_bits)),
                bank.read_enable.eq(self.out_enable),
                bank.read_address.eq(self.out_address),
                self.out_data.word_select(index, self._bank_bits).eq(bank.read_data),
            ]

    def _low_bytes(self, m: Module) -> Value:
        """The low bytes of what a LOAD writes, for one bank of OUT; the same for all banks."""
        dma = self.dma
        narrow = dma.select[COMPUTE_MEMORIES.index(MemoryId.ACC_8BIT)]
        lanes = self._bank_bits // BYTE
        wide = Cat(
            dma.data.word_select(lane % bank_lanes(self._config), LANE_BITS)[:BYTE]
            for lane in range(lanes)
        )
        found = Signal(self._bank_bits)
        m.d.comb += found.eq(Mux(narrow, dma.data[: self._bank_bits], wide))
        with m.If(dma.pad):
            m.d.comb += found.eq(0)
        return found
