"""Builds a shared library from Verilog: Verilator, then the C++ compiler on every core.

Nothing but Verilator's own binary and a C++ compiler is run: no Perl, no make. Code that runs every
cycle is optimised for this processor; code that runs once (constructors, resets, tracing tables) is
not optimised at all, and joined into one file; small files that run every cycle are joined with the
harness. Most of a small file's time goes into reading Verilator's headers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.resources import files
from pathlib import Path

from tandem.base.cache import ContentCache, content_key, default_cache
from tandem.base.processes import ProcessGroup
from tandem.hw.rtl.verilog import VerilogDesign
from tandem.sim.errors import BuildError
from tandem.sim.rtl.constants import cpp_header
from tandem.sim.rtl.toolchain import Toolchain, find_toolchain

LIBRARY = "simulator.so"
_RUNTIME = "runtime.o"
_PREFIX = "Vtandem"
_SOURCES = ("harness.cpp", "bus.hpp", "register_port.hpp", "lz4.h", "zlib.h")
_CONSTANTS = "constants.hpp"
_ERROR_LINES = 12
_SMALL = 100_000
"""Bytes of a generated file that is compiled about as fast as the headers it includes."""

_VERILATE = (
    *("--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert"),
    # The unit of time in waveforms.
    *("--timescale-override", "1ns/1ns"),
    # The Verilog is generated: style warnings are of no use.
    *("-Wno-fatal", "-Wno-lint", "-Wno-style", "-Wno-SYMRSVDWORD"),
)
_COMPILE = ("-std=c++20", "-DVL_TIME_CONTEXT", "-fPIC", "-fvisibility=hidden")
_HOT = ("-O2", "-march=native")
_GCC = ("-fno-gcse", "-fno-tree-pre")
"""A cycle is a few functions of thousands of statements. What these passes compute once for several
of them stays alive for long, and is spilled: without them machines run up to 4% faster."""
_COLD = ("-O0",)
_ONCE = ("-O1",)
_LINK = ("-shared", "-pthread")


class Waves(Enum):
    """The waveform format of the library. Tracing costs time even while no file is open."""

    NONE = ""
    FST = "fst"
    VCD = "vcd"

    @property
    def verilate(self) -> tuple[str, ...]:
        """Options for Verilator."""
        return (f"--trace-{self.value}",) if self.value else ()

    @property
    def compile(self) -> tuple[str, ...]:
        """Options for the compiler."""
        if not self.value:
            return ()
        define = self.value.upper()
        return ("-DVM_TRACE=1", f"-DVM_TRACE_{define}=1", f"-DTANDEM_{define}")

    @property
    def runtime(self) -> tuple[str, ...]:
        """Additional files of Verilator's run-time library."""
        return (f"verilated_{self.value}_c.cpp",) if self.value else ()


def build(design: VerilogDesign, waves: Waves = Waves.NONE, root: Path | None = None) -> Path:
    """The shared library that simulates `design`, from the cache under `root` or built.

    Raises
    ------
    BuildError
        A tool is missing or failed: has the last lines of the tool's output.
    """
    tools = find_toolchain()
    sources = {name: files("tandem.sim.rtl").joinpath(name).read_text() for name in _SOURCES}
    sources[_CONSTANTS] = cpp_header()
    options = repr((_VERILATE, _COMPILE, _HOT, _GCC, _COLD, _ONCE, _LINK, waves.name))
    common = (tools.identity, options, repr(sorted(sources.items())))
    cache = ContentCache((root or default_cache()) / "rtl")
    runtime_key = content_key("runtime", *common)
    design_key = content_key("design", *common, design.top, repr(sorted(design.files.items())))

    def compile_design(work: Path) -> Sequence[Path]:
        with ProcessGroup() as processes, processes.threads(1) as executor:

            def compile_runtime(work: Path) -> Sequence[Path]:
                return [_Workshop.furnished(tools, work, waves, processes, sources).runtime()]

            runtime = executor.submit(cache.entry, runtime_key, compile_runtime)
            builder = _Workshop.furnished(tools, work, waves, processes, sources | design.files)
            try:
                objects = builder.objects(design)
            except BuildError:
                # Nothing needs the run-time library any more.
                processes.kill()
                raise
            return [builder.link([*objects, str(runtime.result() / _RUNTIME)])]

    return cache.entry(design_key, compile_design) / LIBRARY


@dataclass(frozen=True, slots=True)
class _Workshop:
    """A build directory and the tools that run there."""

    tools: Toolchain
    work: Path
    waves: Waves
    processes: ProcessGroup

    @classmethod
    def furnished(
        cls,
        tools: Toolchain,
        work: Path,
        waves: Waves,
        processes: ProcessGroup,
        sources: Mapping[str, str],
    ) -> _Workshop:
        """A build in the directory `work`, which receives `sources`."""
        for name, text in sources.items():
            (work / name).write_text(text)
        return cls(tools, work, waves, processes)

    def objects(self, design: VerilogDesign) -> list[str]:
        """Verilate and compile the design; returns its object files."""
        self._verilate(design)
        generated = sorted(path.name for path in self.work.glob(f"{_PREFIX}*.cpp"))
        self._join("cold.cpp", [name for name in generated if _is_cold(name)])
        sizes = {name: (self.work / name).stat().st_size for name in generated}
        hot = [name for name in generated if not _is_cold(name)]
        small = [name for name in hot if sizes[name] <= _SMALL]
        self._join("bus.cpp", [*small, "harness.cpp"])
        # The largest files first, so that the cores finish at about the same time.
        large = sorted(set(hot) - set(small), key=lambda name: (-sizes[name], name))
        jobs = [*((name, _HOT) for name in large), ("cold.cpp", _COLD), ("bus.cpp", _HOT)]
        return self._compile(jobs)

    def link(self, objects: Sequence[str]) -> Path:
        """Link the shared library; returns its path."""
        self._run((*self.tools.compiler, *_LINK, "-o", LIBRARY, *objects))
        return self.work / LIBRARY

    def runtime(self) -> Path:
        """Compile Verilator's run-time library, which is the same for every design."""
        parts = ("verilated.cpp", "verilated_threads.cpp", *self.waves.runtime)
        self._join("runtime.cpp", parts)
        self._compile([("runtime.cpp", _ONCE)])
        return self.work / _RUNTIME

    def _verilate(self, design: VerilogDesign) -> None:
        verilog = [name for name in design.files if name.endswith((".v", ".sv"))]
        self._run(
            (
                *(str(self.tools.verilator), *_VERILATE, *self.waves.verilate),
                *("--prefix", _PREFIX, "--top-module", design.top, "--Mdir", ".", *verilog),
            )
        )

    def _join(self, name: str, parts: Sequence[str]) -> None:
        text = "".join(f'#include "{part}"\n' for part in parts)
        (self.work / name).write_text(text)

    def _compile(self, jobs: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
        include = self.tools.include
        flags = (
            *(*_COMPILE, *self.waves.compile, "-I.", f"-I{include}", f"-I{include / 'vltstd'}"),
            *(_GCC if self.tools.is_gcc else ()),
        )

        def compile_one(job: tuple[str, Sequence[str]]) -> str:
            name, options = job
            target = f"{Path(name).stem}.o"
            self._run((*self.tools.compiler, *flags, *options, "-o", target, "-c", name))
            return target

        with self.processes.threads(_cores()) as pool:
            return list(pool.map(compile_one, jobs))

    def _run(self, command: Sequence[str]) -> None:
        environment = os.environ | {
            "VERILATOR_ROOT": str(self.tools.verilator_root),
            # A compiler that is killed leaves its temporary files.
            "TMPDIR": str(self.work),
        }
        try:
            status, output = self.processes.run(command, self.work, environment)
        except OSError as error:
            raise BuildError(f"{command[0]} does not run: {error}") from None
        if status != 0:
            tail = "\n".join(output.splitlines()[-_ERROR_LINES:])
            tool = Path(command[0]).name
            raise BuildError(
                f"building the RTL simulator: {tool} failed with status {status} "
                f"on {command[-1]}; it ended with:\n{tail}"
            )


def _is_cold(name: str) -> bool:
    stem = name.removesuffix(".cpp")
    return stem.endswith("Slow") or stem in (_PREFIX, f"{_PREFIX}__Syms")


def _cores() -> int:
    return len(os.sched_getaffinity(0))
