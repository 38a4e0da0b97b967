"""The C runtime alone, compiled for this process, with a simulated machine."""

from __future__ import annotations

import ctypes
import subprocess
from enum import IntEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tandem.hw.config import HardwareConfig
from tandem.hw.header import c_header
from tandem.runtime.c_platform import Machine, SimulatedPlatform, Stream
from tandem.sim.driven.machine import DrivenMachine

SOURCES = Path(__file__).parents[3] / "runtime" / "c"
FLAGS = ("-std=c99", "-O1", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow")


class Outcome(IntEnum):
    """`enum tandem_result`, in its order."""

    OK = 0
    ABSENT = 1
    WRONG_VERSION = 2
    WRONG_MACHINE = 3
    WRONG_FILE = 4
    DAMAGED_FILE = 5
    NO_MEMORY = 6
    BUSY = 7
    LATE = 8
    PROGRAM_FAULT = 9
    DEADLOCK = 10
    BUS_FAULT = 11
    BUS_TIMEOUT = 12
    NEEDS_RESET = 13


def compile_runtime(
    folder: Path, config: HardwareConfig, compiler: str = "cc", *defines: str
) -> Path:
    """The runtime as a shared library in a folder, compiled with macros."""
    (folder / "tandem_registers.h").write_text(c_header(config))
    path = folder / f"runtime-{compiler}.so"
    command = [compiler, *FLAGS, "-Werror", "-shared", "-fPIC", "-I", str(folder), "-o", str(path)]
    command += (f"-D{define}" for define in defines)
    subprocess.run([*command, str(SOURCES / "tandem.c")], check=True)
    return path


class Runtime:
    """The runtime of a library, on a machine."""

    def __init__(
        self, library: Path, machine: DrivenMachine, *, first: int = 4096, interrupt: bool = True
    ) -> None:
        self.library = ctypes.CDLL(str(library))
        self.library.tandem_text.restype = ctypes.c_char_p
        self.library.tandem_cycles.restype = ctypes.c_uint64
        self.machine = Machine()
        self.platform = SimulatedPlatform(machine, first=first, interrupt=interrupt)

    def open(self) -> Outcome:
        platform = ctypes.byref(self.platform.platform)
        return self._outcome(self.library.tandem_open(ctypes.byref(self.machine), platform))

    def load(self, file: bytes, size: int | None = None) -> tuple[Outcome, Stream]:
        """`size` is what the caller says that the file has, where that is not what is there."""
        # Kept by the stream: the runtime reads it at every start.
        stream = Stream()
        content = ctypes.create_string_buffer(file, len(file))
        stream.content = content
        said = ctypes.c_size_t(len(file) if size is None else size)
        call = self.library.tandem_load
        found = call(ctypes.byref(self.machine), content, said, ctypes.byref(stream))
        return self._outcome(found), stream

    def put(self, stream: Stream, offset: int, array: NDArray[np.generic]) -> None:
        size = ctypes.c_size_t(array.nbytes)
        where = ctypes.byref(self.machine), ctypes.byref(stream), ctypes.c_uint32(offset)
        self.library.tandem_put(*where, ctypes.c_void_p(array.ctypes.data), size)

    def run(self, stream: Stream, microseconds: int = 0) -> Outcome:
        limit = ctypes.c_uint64(microseconds)
        call = self.library.tandem_run
        return self._outcome(call(ctypes.byref(self.machine), ctypes.byref(stream), limit))

    def start(self, stream: Stream) -> Outcome:
        call = self.library.tandem_start
        return self._outcome(call(ctypes.byref(self.machine), ctypes.byref(stream)))

    def wait(self, microseconds: int = 0) -> Outcome:
        limit = ctypes.c_uint64(microseconds)
        return self._outcome(self.library.tandem_wait(ctypes.byref(self.machine), limit))

    def text(self, outcome: int) -> str:
        return str(self.library.tandem_text(outcome).decode())

    def cycles(self) -> int:
        return int(self.library.tandem_cycles(ctypes.byref(self.machine)))

    def _outcome(self, found: int) -> Outcome:
        self.platform.check()
        return Outcome(found)
