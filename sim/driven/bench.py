"""The RTL, driven through its own registers."""

from __future__ import annotations

from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import MemoryModel
from tandem.sim.driven.machine import MHZ
from tandem.sim.engine import Bytes, Silence
from tandem.sim.memory import check_beats
from tandem.sim.rtl.bench import BenchSetup
from tandem.sim.rtl.build import build
from tandem.sim.rtl.design import verilog_of
from tandem.sim.rtl.library import CompiledBench

_SLICE = 1 << 16
"""Cycles that are simulated at once."""
_ACCESS = 10
"""Cycles that an access to a register is taken to last, for the clock."""


class BenchMachine:
    """The generated Verilog on Verilator, whose clock runs while its driver waits or reads.

    Parameters
    ----------
    refused
        Address ranges [start, end) in which accesses are answered with an error.
    silence
        Memory that stops answering for a while.
    """

    def __init__(
        self,
        config: HardwareConfig,
        memory: Bytes,
        model: MemoryModel,
        *,
        refused: tuple[tuple[int, int], ...] = (),
        silence: Silence | None = None,
    ) -> None:
        check_beats(config, memory)
        self.memory = memory
        self._bench = CompiledBench(build(verilog_of(config)), model)
        self._bench.attach(BenchSetup(memory, refused, None, False, None, silence))
        self._cycles = 0

    def read(self, offset: int) -> int:
        self._cycles += _ACCESS
        return self._bench.read(offset)

    def write(self, offset: int, value: int) -> None:
        self._cycles += _ACCESS
        self._bench.write(offset, value)

    def wait(self, microseconds: int) -> None:
        left = microseconds * MHZ
        while left > 0:
            cycles = min(left, _SLICE)
            interrupted = self._bench.run(cycles)
            self._cycles += cycles
            if interrupted:
                return
            left -= cycles

    @property
    def microseconds(self) -> int:
        return self._cycles // MHZ

    def close(self) -> None:
        self._bench.detach()
        self._bench.close()
