"""The memory OUT of a machine that requantises results on their way there."""

from __future__ import annotations

from amaranth.hdl import Module, Mux
from amaranth.lib.wiring import In, Out

from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.accumulator import BYTE, bank_lanes, write_layout
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.delay import delayed
from tandem.hw.rtl.scratchpad import OnChipMemory
from tandem.hw.timing import OUT_STAGES
from tandem.hw.topology import MemoryId


class OutMemory(Block):
    """OUT, written `OUT_STAGES` cycles after ACC by lanes and LOADs alike, at the same place.

    The low bytes of what is written to ACC travel beside the requantisers: OUT has one write port,
    and each write is either of these bytes or of requantised ones.

    Members
    -------
    write, low
        The write of ACC in this cycle, and the low byte of every value that it writes.
    requantised, value
        The write of `OUT_STAGES` cycles ago is of requantised bytes; those bytes.
    out_enable, out_address, out_data
        Read port, with a latency of one cycle.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        bits = BYTE * config.acc_lanes
        super().__init__(
            {
                "write": In(write_layout(config)),
                "low": In(bits),
                "requantised": In(1),
                "value": In(bits),
                "out_enable": In(1),
                "out_address": In(config.index_bits(MemoryId.OUT)),
                "out_data": Out(bits),
            }
        )

    def build(self, m: Module) -> None:
        address = delayed(m, self.write.address, OUT_STAGES, "address")
        enable = delayed(m, self.write.enable, OUT_STAGES, "enable", reset=True)
        low = delayed(m, self.low, OUT_STAGES, "low")
        m.submodules.memory = memory = OnChipMemory(
            bits=len(self.value),
            depth=self._config.depth(MemoryId.OUT),
            grain=BYTE * bank_lanes(self._config),
        )
        m.d.comb += [
            memory.write_enable.eq(enable),
            memory.write_address.eq(address),
            memory.write_data.eq(Mux(self.requantised, self.value, low)),
            memory.read_enable.eq(self.out_enable),
            memory.read_address.eq(self.out_address),
            self.out_data.eq(memory.read_data),
        ]
