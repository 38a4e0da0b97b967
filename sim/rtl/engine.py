"""The `rtl` engine: the generated Verilog itself, compiled."""

from __future__ import annotations

from pathlib import Path

from hw.config import HardwareConfig
from hw.isa import Program
from hw.memory_model import DEFAULT_MEMORY, MemoryModel
from hw.rtl.verilog import VerilogDesign
from sim.engine import Bytes, Launch
from sim.errors import EngineError
from sim.result import Result
from sim.rtl.build import Waves, build
from sim.rtl.design import verilog_of
from sim.rtl.launch import Driver
from sim.rtl.library import CompiledBench

__all__ = ["RtlEngine"]


class RtlEngine:
    """Verilog through Verilator. See `sim.engine.Engine`.

    The simulator is built when it is first needed, by `prepare` or by the first launch, and kept in
    the cache. One that writes waveforms is another build and another machine: ask for a waveform
    (`.fst` or `.vcd`) in the first launch or never; launches after it may have one or not.

    `design` is what to simulate, where it is not the Verilog that `config` generates.
    """

    has_time = True

    def __init__(
        self,
        config: HardwareConfig,
        memory_model: MemoryModel = DEFAULT_MEMORY,
        *,
        design: VerilogDesign | None = None,
        cache: Path | None = None,
    ) -> None:
        self.config = config
        self.memory_model = memory_model
        self._design = design
        self._cache = cache
        self._waves = Waves.NONE
        self._bench: CompiledBench | None = None
        self._driver: Driver | None = None

    @property
    def name(self) -> str:
        """How the command line calls this engine."""
        return "rtl"

    def prepare(self, waves: Waves = Waves.NONE) -> None:
        """Build the simulator unless the cache has it, and switch the machine on.

        Raises
        ------
        BuildError
            See `sim.rtl.build.build`.
        """
        if self._bench is not None:
            return
        design = self._design or verilog_of(self.config, self._cache)
        library = build(design, waves, self._cache)
        self._waves = waves
        self._bench = CompiledBench(library, self.memory_model)
        self._driver = Driver(self.name, self.config, self._bench)

    def launch(self, program: Program, memory: Bytes, how: Launch) -> Result:
        """See `sim.engine.Engine.launch`."""
        wanted = _waves(how.waveform)
        if self._driver is None:
            self.prepare(wanted)
        elif wanted not in (Waves.NONE, self._waves):
            raise EngineError(
                f"a {wanted.value} waveform must be asked for in the engine's first launch"
            )
        assert self._driver is not None
        return self._driver.launch(program, memory, how)

    def close(self) -> None:
        """Switch the machine off; the next launch starts a new one."""
        if self._bench is not None:
            self._bench.close()
        self._bench = self._driver = None


def _waves(path: Path | None) -> Waves:
    if path is None:
        return Waves.NONE
    for waves in (Waves.FST, Waves.VCD):
        if path.suffix == f".{waves.value}":
            return waves
    raise EngineError(f"waveform {path}: the rtl engine writes .fst and .vcd")
