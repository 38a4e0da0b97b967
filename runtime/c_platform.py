"""The platform of the C runtime whose machine is a simulated one: seven functions for C."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from tandem.hw.registers import Status
from tandem.sim.driven.machine import DrivenMachine

ALIGNMENT: Final = 4096
"""Of the memory that a platform gives, in bytes."""

_Context: TypeAlias = ctypes.c_void_p
_READ = ctypes.CFUNCTYPE(ctypes.c_uint32, _Context, ctypes.c_uint32)
_WRITE = ctypes.CFUNCTYPE(None, _Context, ctypes.c_uint32, ctypes.c_uint32)
_MEMORY = ctypes.CFUNCTYPE(
    ctypes.c_void_p, _Context, ctypes.c_size_t, ctypes.POINTER(ctypes.c_uint64)
)
_RANGE = ctypes.CFUNCTYPE(None, _Context, ctypes.c_void_p, ctypes.c_size_t)
_WAIT = ctypes.CFUNCTYPE(None, _Context, ctypes.c_uint32)
_TIME = ctypes.CFUNCTYPE(ctypes.c_uint64, _Context)


class Platform(ctypes.Structure):
    """`struct tandem_platform` of `tandem.h`."""

    _fields_ = (
        ("context", ctypes.c_void_p),
        ("read", _READ),
        ("write", _WRITE),
        ("memory", _MEMORY),
        ("flush", _RANGE),
        ("invalidate", _RANGE),
        ("wait", _WAIT),
        ("time", _TIME),
    )


class Stream(ctypes.Structure):
    """`struct tandem_stream`."""

    _fields_ = (
        ("memory", ctypes.c_void_p),
        ("address", ctypes.c_uint64),
        ("bytes", ctypes.c_uint32),
        ("program", ctypes.c_uint32),
        ("count", ctypes.c_uint32),
        ("bases", ctypes.c_void_p),
        ("base_count", ctypes.c_uint32),
    )


class FaultRecord(ctypes.Structure):
    """`struct tandem_fault`."""

    _fields_ = (
        ("code", ctypes.c_uint32),
        ("instruction", ctypes.c_uint32),
        ("address", ctypes.c_uint64),
        ("instructions", ctypes.c_uint32 * 3),
        ("waits", ctypes.c_uint32 * 3),
    )


class Machine(ctypes.Structure):
    """`struct tandem`."""

    _fields_ = (
        ("platform", ctypes.c_void_p),
        ("fault", FaultRecord),
        ("address_bits", ctypes.c_uint32),
        ("running", ctypes.c_int),
        ("set", ctypes.c_void_p),
    )


class SimulatedPlatform:
    """The platform of a machine that is driven here.

    Attributes
    ----------
    platform
        What C functions take a pointer to; valid as long as this value lives.
    error
        The exception of a function that C called, which C cannot carry: from then on the machine
        reads as if it had stopped. None without any.
    next
        The first address of memory that nobody has.

    Parameters
    ----------
    first
        The first address of memory that is given to the runtime.
    interrupt
        Whether the runtime waits for the interrupt; it polls otherwise.
    """

    def __init__(
        self, machine: DrivenMachine, *, first: int = ALIGNMENT, interrupt: bool = True
    ) -> None:
        self.error: BaseException | None = None
        self._machine = machine
        self.next = first
        self.platform = Platform(
            None,
            _READ(self._guarded(lambda _, offset: machine.read(offset), int(Status.ERROR))),
            _WRITE(self._guarded(lambda _, offset, value: machine.write(offset, value), None)),
            _MEMORY(self._guarded(self._memory, None)),
            _RANGE(lambda *_: None),
            _RANGE(lambda *_: None),
            _WAIT(self._guarded(self._wait, None)) if interrupt else _WAIT(),
            _TIME(self._guarded(lambda _: self._time(), 0)),
        )

    def check(self) -> None:
        """Raise the first exception of a function that C called, if there was one."""
        if self.error is not None:
            raise self.error

    def _memory(self, _: object, size: int, address: Any) -> int | None:
        begin = self.next
        if begin + size > len(self._machine.memory):
            return None
        self.next = -(-(begin + size) // ALIGNMENT) * ALIGNMENT
        address[0] = begin
        return int(self._machine.memory.ctypes.data) + begin

    def _wait(self, _: object, microseconds: int) -> None:
        self._machine.wait(microseconds)

    def _time(self) -> int:
        # Of a machine that failed all time has passed, so that C does not wait for it.
        return self._machine.microseconds if self.error is None else (1 << 63)

    def _guarded(self, function: Callable[..., Any], otherwise: Any) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if self.error is not None:
                return otherwise
            try:
                return function(*arguments)
            except BaseException as error:
                self.error = error
                return otherwise

        return call
