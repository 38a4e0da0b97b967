"""An exported library in this process, with a simulated machine for the accelerator."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tandem.runtime.aligned_arrays import aligned_empty
from tandem.runtime.c_platform import Machine, SimulatedPlatform, Stream
from tandem.sim.driven.machine import DrivenMachine
from tandem.workbench.errors import ExportError
from tandem.workbench.export.header import Header, Port
from tandem.workbench.export.heap_source import HEAP_BYTES, RESULTS
from tandem.workbench.export.library import Exported
from tandem.workbench.export.options import PLAIN

FLAGS: Final = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
_TEXT_BYTES: Final = 1000
"""Of a compiler's message."""


def _network_type(header: Header) -> Any:
    """The structure of a network in its header."""
    fields = (
        ("machine", ctypes.c_void_p),
        ("streams", Stream * len(header.streams)),
        ("limit", ctypes.c_uint64),
        ("cycles", ctypes.c_uint64),
        *([("result", ctypes.c_int)] if header.heap else []),
    )
    return type("Network", (ctypes.Structure,), {"_fields_": fields})


class HostedLibrary:
    """A library for an accelerator, compiled here and opened on a machine.

    Parameters
    ----------
    compiler, flags
        The C compiler, and its options.
    heap_bytes
        Of the heap of a network that has one.

    Raises
    ------
    ExportError
        The compiler is not there, or fails; the runtime refuses the machine; the library has
        options.
    """

    def __init__(
        self,
        exported: Exported,
        machine: DrivenMachine,
        *,
        compiler: str = "cc",
        flags: tuple[str, ...] = FLAGS,
        interrupt: bool = True,
        heap_bytes: int = HEAP_BYTES,
    ) -> None:
        if replace(exported.header.options, in_place=None, form=PLAIN.form) != PLAIN:
            raise ExportError("a library with threads, profiles or a file of weights does not run")
        self._header, self._heap_bytes = exported.header, heap_bytes
        self._library = ctypes.CDLL(str(_build(exported, compiler, flags)))
        self._library.tandem_text.restype = ctypes.c_char_p
        self._platform = SimulatedPlatform(machine, interrupt=interrupt)
        self._machine, self._network = Machine(), _network_type(self._header)()
        machine_address = ctypes.byref(self._machine)
        platform = ctypes.byref(self._platform.platform)
        self._check(self._library.tandem_open(machine_address, platform))
        self._check(self._call("open", ctypes.byref(self._network), machine_address))

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The outputs of a run, by the model's names.

        Raises
        ------
        ExportError
            The run failed: has the runtime's words, or the network's of its heap.
        """
        header = self._header
        given = {port.name: np.ascontiguousarray(inputs[port.name]) for port in header.inputs}
        outputs = {
            port.name: np.zeros(port.tensor.shape, port.tensor.dtype) for port in header.outputs
        }
        arena = aligned_empty((max(header.arena_bytes, 1),), "uint8")
        workspace = aligned_empty((max(header.workspace_bytes, 1),), "uint8")
        passed = [
            ctypes.byref(self._network),
            _pointers(header.inputs, given),
            _pointers(header.outputs, outputs),
            ctypes.c_void_p(arena.ctypes.data),
            ctypes.c_void_p(workspace.ctypes.data),
        ]
        if not header.heap:
            self._check(self._call("run", *passed))
            return outputs
        heap = aligned_empty((self._heap_bytes,), "uint8")
        sized = ctypes.c_void_p(heap.ctypes.data), ctypes.c_size_t(heap.nbytes)
        ended = self._call("run", *passed, *sized)
        self._check(self._network.result)
        if ended:
            raise ExportError(f"{header.name}: {[*RESULTS.values()][ended]}")
        return outputs

    @property
    def cycles(self) -> int:
        """The accelerator's cycles in the last run."""
        return int(self._network.cycles)

    @property
    def limit(self) -> int:
        """Microseconds that a launch may take; 0 for any number."""
        return int(self._network.limit)

    @limit.setter
    def limit(self, microseconds: int) -> None:
        self._network.limit = microseconds

    def _call(self, verb: str, *arguments: Any) -> int:
        return int(self._library[f"{self._header.name}_{verb}"](*arguments))

    def _check(self, result: int) -> None:
        self._platform.check()
        if result:
            text = self._library.tandem_text(result).decode()
            raise ExportError(f"{self._header.name}: {text} (result {result} of the C runtime)")


def _pointers(ports: Sequence[Port], arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The structure of a function's inputs or outputs: a pointer for each."""
    pointers = [arrays[port.name].ctypes.data for port in ports]
    return (ctypes.c_void_p * max(len(pointers), 1))(*pointers)


def _build(exported: Exported, compiler: str, flags: tuple[str, ...]) -> Path:
    """The library as a shared one, in its folder."""
    header, folder = exported.header, exported.folder
    sources = [f"{header.name}.c", "tandem.c", *exported.sources]
    objects = [name for name in exported.files if name.endswith(".o") and name != "check.o"]
    # A name of its own for each build: a process loads a file once.
    path = folder / f"lib{header.name}-{os.getpid()}-{len([*folder.glob('*.so')])}.so"
    command = [compiler, *flags, "-shared", "-fPIC", "-o", str(path), *sources, *objects, "-lm"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    except OSError as error:
        raise ExportError(f"{compiler} cannot be run: {error}") from None
    if done.returncode:
        raise ExportError(f"{compiler} failed: {done.stderr[-_TEXT_BYTES:]}")
    return path
