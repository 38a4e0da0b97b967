"""The functions of thread pools one by one, in a system whose clock and CPUs tests set."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import CFUNCTYPE, c_bool, c_int32, c_int64, c_uint8, c_void_p
from dataclasses import dataclass, field
from typing import Any, Final

from tandem.base.processor import object_of_text
from tandem.runtime.native.linked import linked
from tandem.runtime.native.pool_state import (
    CPU_SET_BYTES,
    CallState,
    HelperState,
    LoopState,
    PoolState,
    RangeState,
)
from tandem.runtime.native.pool_text import pool_text
from tandem.runtime.native.processor import this_triple

_FUNCTIONS: Final[dict[str, tuple[Any, ...]]] = {
    "idle": (c_int64, c_int64),
    "sleep": (None, c_void_p),
    "open_gate": (c_int64, c_void_p, c_int64),
    "closed": (c_uint8, c_void_p),
    "helper": (c_void_p, c_void_p, c_int64),
    "place": (None, c_void_p),
    "asleep": (c_uint8, c_void_p, c_int64),
    "wake": (None, c_void_p, c_int64),
    "describe": (None, *[c_void_p] * 4, c_int64, c_int64, c_void_p, c_int64),
    "work": (None, c_void_p, c_int64, c_bool),
    "launch": (None, c_void_p, c_void_p, c_void_p, c_int64),
    "help": (None, c_void_p, c_int64),
    "dismiss": (None, c_void_p),
}
"""Their results and parameters."""
_TASK = CFUNCTYPE(None, c_void_p, c_int64, c_int64, c_int64)
_SYSTEM: Final[dict[str, tuple[Any, ...]]] = {
    "clock_gettime": (c_int32, c_void_p),
    "sched_yield": (),
    "sched_getcpu": (),
    "sched_setaffinity": (c_int32, c_int64, c_void_p),
    "sem_wait": (c_void_p,),
    "sem_post": (c_void_p,),
}


@dataclass
class System:
    """What the system tells a pool, and what the pool has asked of it.

    Attributes
    ----------
    now
        Nanoseconds of the monotonic clock.
    cpu
        The one that the caller runs on.
    interruptions
        How often signals end the sleep on a semaphore.
    asked
        Names of functions and their arguments; of CPUs their bits.
    waited
        Called when somebody sleeps on a semaphore.
    """

    now: int = 0
    cpu: int = 0
    interruptions: int = 0
    asked: list[tuple[Any, ...]] = field(default_factory=list)
    waited: Callable[[], None] | None = None

    def clock_gettime(self, clock: int, at: int) -> int:
        self.asked.append(("clock_gettime", clock))
        time = (c_int64 * 2).from_address(at)
        time[0], time[1] = divmod(self.now, 1_000_000_000)
        return 0

    def sched_yield(self) -> int:
        self.asked.append(("sched_yield",))
        return 0

    def sched_getcpu(self) -> int:
        return self.cpu

    def sched_setaffinity(self, thread: int, size: int, at: int) -> int:
        bits = int.from_bytes(ctypes.string_at(at, size), "little")
        self.asked.append(("sched_setaffinity", thread, size, bits))
        return 0

    def sem_wait(self, at: int) -> int:
        self.asked.append(("sem_wait", at))
        if self.waited is not None:
            self.waited()
        self.interruptions -= 1
        return -1 if self.interruptions >= 0 else 0

    def sem_post(self, at: int) -> int:
        self.asked.append(("sem_post", at))
        return 0

    def did(self, name: str) -> list[list[Any]]:
        """The arguments of the calls of a function."""
        return [arguments for called, *arguments in self.asked if called == name]


class PoolProgram:
    """The functions of pools as attributes, which call a `System`."""

    def __init__(self) -> None:
        self.system = System()
        self._kept = [
            CFUNCTYPE(c_int32, *types)(self._call(name)) for name, types in _SYSTEM.items()
        ]
        addresses = {
            name: ctypes.cast(function, c_void_p).value
            for name, function in zip(_SYSTEM, self._kept, strict=True)
        }
        triple = this_triple()
        lines = [
            _defined(line, addresses) if line.startswith("declare i32 @") else line
            for line in pool_text(triple).replace("define internal", "define").splitlines()
        ]
        self._linked = linked(
            triple, object_of_text("\n".join(lines), triple, 1), tuple(_FUNCTIONS)
        )

    def _call(self, name: str) -> Callable[..., int]:
        return lambda *arguments: getattr(self.system, name)(*arguments)

    def __getattr__(self, name: str) -> Any:
        return CFUNCTYPE(*_FUNCTIONS[name])(self._linked.addresses[name])


def _defined(line: str, addresses: dict[str, int | None]) -> str:
    """A declared function as one that calls an address."""
    name, _, types = line.removeprefix("declare i32 @").rstrip(")").partition("(")
    given = ", ".join(f"{each} %p{at}" for at, each in enumerate(types.split(", ")) if each)
    return (
        f"define i32 @{name}({given}) {{\n  %function = inttoptr i64 {addresses[name]} to ptr\n"
        f"  %result = call i32 %function({given})\n  ret i32 %result\n}}"
    )


class Pool:
    """The memory of a pool with so many helpers, which nobody runs, and of a call on it."""

    def __init__(self, helpers: int) -> None:
        sizes = ctypes.sizeof(PoolState), ctypes.sizeof(HelperState), ctypes.sizeof(RangeState)
        size = sizes[0] + helpers * sizes[1] + (helpers + 1) * sizes[2]
        self._memory = (c_int64 * (size // 8))()
        self.address = ctypes.addressof(self._memory)
        self.state = PoolState.from_buffer(self._memory)
        self.helpers = [
            HelperState.from_buffer(self._memory, sizes[0] + number * sizes[1])
            for number in range(helpers)
        ]
        self.ranges = [
            RangeState.from_buffer(self._memory, sizes[0] + helpers * sizes[1] + number * sizes[2])
            for number in range(helpers + 1)
        ]
        self.state.helpers, self.state.shares = helpers, 2
        self.call = CallState(pool=self.address, next_poll=1 << 60)

    def semaphore(self, number: int) -> int:
        """The address of a helper's semaphore."""
        return ctypes.addressof(self.helpers[number]) + HelperState.semaphore.offset

    @property
    def left(self) -> int:
        """The address of the semaphore on which a caller sleeps."""
        return self.address + PoolState.left.offset

    def let_all_run(self) -> None:
        """Let every helper run on all CPUs, and number their threads from 1."""
        for number, helper in enumerate(self.helpers, 1):
            helper.thread = number
            ctypes.memset(helper.cpus, 255, CPU_SET_BYTES)


class Task:
    """A task whose chunks (begin, end, worker) are noted; `during` is called in each of them."""

    def __init__(self, during: Callable[[], None] | None = None) -> None:
        self.chunks: list[tuple[int, int, int]] = []
        self.closures: set[int | None] = set()

        def run(closure: int | None, begin: int, end: int, worker: int) -> None:
            self.closures.add(closure)
            self.chunks.append((begin, end, worker))
            if during is not None:
                during()

        self._code = _TASK(run)
        self.address = ctypes.cast(self._code, c_void_p).value

    def iterations(self) -> list[int]:
        """The iterations that ran, sorted."""
        return sorted(at for begin, end, _ in self.chunks for at in range(begin, end))


def loop_of(
    pool: Pool, task: Task, ranges: list[tuple[int, int]], iterations: int, unit: int = 1
) -> LoopState:
    """A loop on a pool whose ranges have these units left."""
    for state, (begin, end) in zip(pool.ranges, ranges, strict=False):
        state.left = end << 32 | begin
    return LoopState(
        call=ctypes.addressof(pool.call),
        task=task.address,
        closure=77,
        iterations=iterations,
        unit=unit,
        ranges=ctypes.addressof(pool.ranges[0]),
        range_count=len(ranges),
        shares=pool.state.shares,
    )
