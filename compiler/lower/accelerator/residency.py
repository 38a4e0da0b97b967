"""Micro-op kernels in the micro-op memory: which are there, and when others come in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from compiler.lower.accelerator.commands import Copy, Ints, Kernel
from hw.config import HardwareConfig
from hw.topology import MemoryId

__all__ = ["KernelStore", "Residency", "keep_kernels"]


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


@dataclass(frozen=True, slots=True, eq=False)
class Residency:
    """How kernels get to their commands.

    Attributes
    ----------
    uop
        For each command where its kernel begins in the micro-op memory; 0 for copies.
    loads
        Loads of micro-ops, by the position of the command that each stands in front of.
    """

    uop: Ints
    loads: tuple[tuple[int, Copy], ...]


@dataclass(slots=True)
class _Memory:
    """The micro-op memory: kernels by where they begin; the least recently used goes first."""

    sizes: Sequence[int]
    depth: int
    begins: dict[int, int] = field(default_factory=dict)
    """In the order of their last use, which is kept by moving what is used to the end."""

    def use(self, kernel: int) -> int | None:
        """Where a kernel lies, if it is there."""
        at = self.begins.pop(kernel, None)
        if at is not None:
            self.begins[kernel] = at
        return at

    def make_room(self, kernel: int, keep: set[int]) -> int | None:
        """A place for a kernel; None, and nothing goes, if those to `keep` leave no room."""
        left = dict(self.begins)
        evictable = [each for each in left if each not in keep]
        while (at := self._gap(left, self.sizes[kernel])) is None:
            if not evictable:
                return None
            del left[evictable.pop(0)]
        self.begins = {**left, kernel: at}
        return at

    def _gap(self, begins: dict[int, int], size: int) -> int | None:
        at = 0
        for kernel, begin in sorted(begins.items(), key=lambda each: each[1]):
            if begin - at >= size:
                return at
            at = begin + self.sizes[kernel]
        return at if self.depth - at >= size else None


def keep_kernels(
    kernel_of: Ints,
    operator: Ints,
    kernels: Sequence[Kernel],
    store: KernelStore,
    config: HardwareConfig,
    dram: int,
) -> Residency:
    """The loads of micro-ops that commands need.

    Loading occupies compute. So what an operator will use is loaded in one go as soon as the first
    of it is missing, as far as there is room, which is at its beginning, when compute waits for
    data anyway.

    Parameters
    ----------
    kernel_of
        For each command the number of its kernel among `kernels`, which differ; -1 for copies.
    operator
        For each command the number of its operator; they do not decrease.
    store
        Gets the kernels.
    dram
        Where it will lie, in micro-ops.
    """
    memory = _Memory([len(each) for each in kernels], config.depth(MemoryId.UOP))
    positions = np.flatnonzero(kernel_of >= 0)
    wanted = kernel_of[positions].tolist()
    ends = np.searchsorted(operator[positions], operator[positions], side="right").tolist()
    loads: list[tuple[int, Copy]] = []
    begins = []
    for at, kernel in enumerate(wanted):
        begin = memory.use(kernel)
        if begin is None:
            ahead = dict.fromkeys(wanted[at : ends[at]])
            found = _load(ahead, memory, kernels, store, dram)
            loads += [(int(positions[at]), each) for each in found]
            begin = memory.use(kernel)
            assert begin is not None, "no kernel is larger than the memory"
        begins.append(begin)
    uop = np.zeros(len(kernel_of), np.int64)
    uop[positions] = begins
    return Residency(uop, tuple(loads))


def _load(
    wanted: Iterable[int],
    memory: _Memory,
    kernels: Sequence[Kernel],
    store: KernelStore,
    dram: int,
) -> list[Copy]:
    chosen: set[int] = set()
    loads: list[tuple[int, int, int]] = []
    for kernel in wanted:
        chosen.add(kernel)
        if memory.use(kernel) is not None:
            continue
        at = memory.make_room(kernel, chosen)
        if at is None:
            break
        source, size = store.place(kernels[kernel]), len(kernels[kernel])
        if loads and (at, source) == (loads[-1][0] + loads[-1][2], loads[-1][1] + loads[-1][2]):
            loads[-1] = loads[-1][0], loads[-1][1], loads[-1][2] + size
        else:
            loads.append((at, source, size))
    return [
        Copy(memory=MemoryId.UOP, sram=at, dram=dram + source, rows=1, columns=size, stride=0)
        for at, source, size in loads
    ]
