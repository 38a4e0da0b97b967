"""The compiled harness as a bench. The C++ side of each call is in `harness.cpp`."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

from tandem.hw.memory_model import MemoryModel
from tandem.sim.engine import Channel, Silence
from tandem.sim.errors import BuildError, EngineError
from tandem.sim.rtl.bench import ACCESS_CYCLES, BenchSetup, EventLog, stall_threshold
from tandem.sim.rtl.constants import Outcome

_EVENT_WORDS = 2

_u32, _u64, _int = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int
_machine, _text = ctypes.c_void_p, ctypes.c_char_p
_SIGNATURES: dict[str, tuple[type | None, tuple[type, ...]]] = {
    "tandem_open": (_machine, ()),
    "tandem_close": (None, (_machine,)),
    "tandem_memory": (None, (_machine, ctypes.c_void_p, _u64)),
    "tandem_timing": (None, (_machine, _u64, _u64, _u64)),
    "tandem_stalls": (None, (_machine, _u64, _u64)),
    "tandem_silence": (None, (_machine, _u32, _u64, _u64, _int)),
    "tandem_refuse": (None, (_machine, ctypes.c_void_p, _u64)),
    "tandem_arm": (None, (_machine, _int)),
    "tandem_run": (_int, (_machine, _u64)),
    "tandem_cycles": (_u64, (_machine,)),
    "tandem_broken": (_text, (_machine,)),
    "tandem_write": (_int, (_machine, _u32, _u32, _u64)),
    "tandem_read": (_int, (_machine, _u32, ctypes.POINTER(_u32), _u64)),
    "tandem_events": (_u64, (_machine, ctypes.POINTER(ctypes.c_void_p))),
    "tandem_open_waveform": (_int, (_machine, _text)),
    "tandem_close_waveform": (None, (_machine,)),
}


class CompiledBench:
    """A bench on the shared library `path`, after reset; memory has the timing of `model`."""

    def __init__(self, path: Path, model: MemoryModel) -> None:
        try:
            self._library = ctypes.CDLL(str(path))
        except OSError as error:
            raise BuildError(f"the RTL simulator {path} cannot be loaded: {error}") from None
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments
        self._machine = ctypes.c_void_p(self._library.tandem_open())
        self._library.tandem_timing(self._machine, model.latency, model.interval, model.in_flight)
        self._memory: object = None

    def close(self) -> None:
        """Free the simulated machine; the bench must not be used afterwards."""
        if self._machine:
            self._library.tandem_close(self._machine)
            self._machine = ctypes.c_void_p()

    def attach(self, setup: BenchSetup) -> None:
        """See `sim.rtl.bench.Bench`."""
        threshold = stall_threshold(setup.stalls)
        seed = setup.stalls.seed if setup.stalls is not None else 0
        ranges = np.array(setup.refused, dtype=np.uint64).reshape(-1, 2)
        if setup.waveform is not None:
            self._open_waveform(setup.waveform)
        # The harness has only the address: this reference keeps the array alive.
        self._memory = setup.memory
        call, machine = self._library, self._machine
        call.tandem_memory(machine, setup.memory.ctypes.data, len(setup.memory))
        call.tandem_stalls(machine, threshold, seed)
        self._be_silent(setup.silence)
        call.tandem_refuse(machine, ranges.ctypes.data, len(ranges))
        call.tandem_arm(machine, setup.events)

    def detach(self) -> None:
        """See `sim.rtl.bench.Bench`."""
        self._library.tandem_close_waveform(self._machine)
        self._library.tandem_memory(self._machine, None, 0)
        self._library.tandem_stalls(self._machine, 0, 0)
        self._be_silent(None)
        self._memory = None

    def write(self, offset: int, value: int) -> None:
        """See `sim.rtl.bench.Bench`."""
        self._answer(
            "write", offset, self._library.tandem_write(self._machine, offset, value, ACCESS_CYCLES)
        )

    def read(self, offset: int) -> int:
        """See `sim.rtl.bench.Bench`."""
        value = _u32()
        response = self._library.tandem_read(
            self._machine, offset, ctypes.byref(value), ACCESS_CYCLES
        )
        self._answer("read", offset, response)
        return value.value

    def run(self, cycles: int) -> bool:
        """See `sim.rtl.bench.Bench`."""
        outcome = self._library.tandem_run(self._machine, cycles)
        self._check_rules()
        return bool(outcome == Outcome.INTERRUPT)

    @property
    def cycles(self) -> int:
        """See `sim.rtl.bench.Bench`."""
        return int(self._library.tandem_cycles(self._machine))

    def events(self) -> EventLog:
        """See `sim.rtl.bench.Bench`."""
        start = ctypes.c_void_p()
        count = self._library.tandem_events(self._machine, ctypes.byref(start))
        if not count or start.value is None:
            return np.empty((0, _EVENT_WORDS), dtype=np.uint64)
        words = (_u64 * (_EVENT_WORDS * count)).from_address(start.value)
        return np.array(words, dtype=np.uint64).reshape(-1, _EVENT_WORDS)

    def _be_silent(self, silence: Silence | None) -> None:
        chosen = silence or Silence(Channel(0), 0, 0)
        self._library.tandem_silence(
            self._machine, chosen.channels, chosen.begin, chosen.cycles, chosen.lost
        )

    def _answer(self, verb: str, offset: int, response: int) -> None:
        self._check_rules()
        if response:
            what = "did not answer" if response < 0 else f"answered with response {response}"
            raise EngineError(f"{verb} of register {offset:#05x}: the design {what}")

    def _check_rules(self) -> None:
        broken = self._library.tandem_broken(self._machine)
        if broken is not None:
            raise EngineError(f"protocol violation on m_axi: {broken.decode()}")

    def _open_waveform(self, path: Path) -> None:
        try:
            # Verilator's writer of FST does not say when it cannot open a file.
            path.touch()
        except OSError as error:
            raise EngineError(f"the waveform {path} cannot be written: {error}") from None
        if self._library.tandem_open_waveform(self._machine, str(path).encode()):
            raise EngineError(f"the waveform {path} cannot be written")
