"""Micro-op kernels in the micro-op memory: which are there, and when others come in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from compiler.lower.accelerator.commands import Command, Compute, Copy, Kernel, Origin
from hw.config import HardwareConfig
from hw.memories import MemoryId

__all__ = ["KernelStore", "Resident", "keep_kernels"]


@dataclass(frozen=True, slots=True)
class Resident:
    """A command, and where its kernel begins in the micro-op memory (0 for copies)."""

    command: Command
    uop: int = 0


@dataclass(slots=True)
class KernelStore:
    """All kernels of a stream, one after the other, as they lie in DRAM. Equal ones lie once."""

    kernels: dict[Kernel, int] = field(default_factory=dict)
    size: int = 0

    def place(self, kernel: Kernel) -> int:
        """Where a kernel lies, in micro-ops."""
        at = self.kernels.get(kernel)
        if at is None:
            at = self.kernels[kernel] = self.size
            self.size += len(kernel)
        return at


@dataclass(slots=True)
class _Memory:
    """The micro-op memory: kernels by where they begin; the least recently used goes first."""

    depth: int
    begins: dict[Kernel, int] = field(default_factory=dict)
    """In the order of their last use, which is kept by moving what is used to the end."""

    def use(self, kernel: Kernel) -> int | None:
        """Where a kernel lies, if it is there."""
        at = self.begins.pop(kernel, None)
        if at is not None:
            self.begins[kernel] = at
        return at

    def make_room(self, kernel: Kernel, keep: set[Kernel]) -> int | None:
        """A place for a kernel; None, and nothing goes, if those to `keep` leave no room."""
        left = dict(self.begins)
        evictable = [each for each in left if each not in keep]
        while (at := self._gap(left, len(kernel))) is None:
            if not evictable:
                return None
            del left[evictable.pop(0)]
        self.begins = {**left, kernel: at}
        return at

    def _gap(self, begins: dict[Kernel, int], size: int) -> int | None:
        at = 0
        for kernel, begin in sorted(begins.items(), key=lambda each: each[1]):
            if begin - at >= size:
                return at
            at = begin + len(kernel)
        return at if self.depth - at >= size else None


def keep_kernels(
    commands: Sequence[Command], store: KernelStore, config: HardwareConfig, dram: int
) -> Iterator[Resident]:
    """The commands with the loads of micro-ops that they need.

    Loading occupies compute. So what an operator will use is loaded in one go as soon as the first
    of it is missing, as far as there is room, which is at its beginning, when compute waits for
    data anyway.

    Parameters
    ----------
    store
        Gets the kernels.
    dram
        Where it will lie, in micro-ops.
    """
    memory = _Memory(config.depth(MemoryId.UOP))
    for position, command in enumerate(commands):
        if not isinstance(command, Compute):
            yield Resident(command)
            continue
        at = memory.use(command.kernel)
        if at is None:
            yield from _load(_wanted(commands, position), memory, store, command.origin, dram)
            at = memory.use(command.kernel)
            assert at is not None, "no kernel is larger than the memory"
        yield Resident(command, at)


def _wanted(commands: Sequence[Command], position: int) -> Iterator[Kernel]:
    """Kernels from a command on, to the end of its operator."""
    operator = commands[position].origin.operator
    for at in range(position, len(commands)):
        command = commands[at]
        if command.origin.operator != operator:
            return
        if isinstance(command, Compute):
            yield command.kernel


def _load(
    wanted: Iterator[Kernel], memory: _Memory, store: KernelStore, origin: Origin, dram: int
) -> Iterator[Resident]:
    chosen: set[Kernel] = set()
    loads: list[tuple[int, int, int]] = []
    for kernel in wanted:
        if kernel in chosen:
            continue
        chosen.add(kernel)
        if memory.use(kernel) is not None:
            continue
        at = memory.make_room(kernel, chosen)
        if at is None:
            break
        source, size = store.place(kernel), len(kernel)
        if loads and (at, source) == (loads[-1][0] + loads[-1][2], loads[-1][1] + loads[-1][2]):
            loads[-1] = loads[-1][0], loads[-1][1], loads[-1][2] + size
        else:
            loads.append((at, source, size))
    where = Origin(origin.operator, "micro-ops")
    for at, source, size in loads:
        yield Resident(
            Copy(
                memory=MemoryId.UOP,
                sram=at,
                dram=dram + source,
                rows=1,
                columns=size,
                stride=0,
                origin=where,
            )
        )
