"""The compiled RTL of a configuration, for tests that drive its registers themselves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import MEMORY_PRESETS
from tandem.sim.rtl.build import build
from tandem.sim.rtl.design import verilog_of
from tandem.sim.rtl.library import CompiledBench


@contextmanager
def compiled_machine(config: HardwareConfig) -> Iterator[CompiledBench]:
    """A bench on the Verilog of `config`, after reset. Mutation tests replace the Verilog here."""
    bench = CompiledBench(build(verilog_of(config)), MEMORY_PRESETS["fast"])
    yield bench
    bench.close()
