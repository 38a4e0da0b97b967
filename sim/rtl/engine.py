"""The `rtl` engine: the generated Verilog, compiled with Verilator."""

from __future__ import annotations

from pathlib import Path

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Program
from tandem.hw.memory_model import DEFAULT_MEMORY, MemoryModel
from tandem.hw.rtl.verilog import VerilogDesign
from tandem.sim.engine import Bytes, Launch
from tandem.sim.errors import EngineError
from tandem.sim.result import Result
from tandem.sim.rtl.build import Waves, build
from tandem.sim.rtl.design import verilog_of
from tandem.sim.rtl.launch import Driver
from tandem.sim.rtl.library import CompiledBench


class RtlEngine:
    """An engine on the design compiled with Verilator; see `sim.engine.Engine`.

    `prepare` or the first launch builds the simulator, unless the cache has it. Waveforms (`.fst`
    or `.vcd`) need another build: ask for one in the first launch or never; later launches may then
    have one or not.

    `design`, if given, is simulated in place of the Verilog that `config` generates.
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
        """The engine's name on the command line."""
        return "rtl"

    def prepare(self, data: bool = True, waves: Waves = Waves.NONE) -> None:
        """Build the simulator, with data always, unless the cache has it, and load it.

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
        """Run `program`; see `sim.engine.Engine.launch`."""
        wanted = _waves(how.waveform)
        if self._driver is None:
            self.prepare(waves=wanted)
        elif wanted not in (Waves.NONE, self._waves):
            raise EngineError(
                f"a {wanted.value} waveform must be asked for in the engine's first launch"
            )
        assert self._driver is not None
        return self._driver.launch(program, memory, how)

    def close(self) -> None:
        """Free the simulated machine; the next launch creates a new one."""
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
