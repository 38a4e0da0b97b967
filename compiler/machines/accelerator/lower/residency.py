"""Residency of kernels in the micro-op memory, and the loads of missing kernels."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tandem.compiler.machines.accelerator.lower.commands import Copy, Ints, Kernel
from tandem.hw.config import HardwareConfig
from tandem.hw.topology import MemoryId


@dataclass(slots=True)
class KernelStore:
    """All distinct kernels of a stream, stored consecutively in DRAM."""

    kernels: dict[Kernel, int] = field(default_factory=dict)
    size: int = 0

    def place(self, kernel: Kernel) -> int:
        """The address of a kernel in micro-ops; a new kernel is appended."""
        at = self.kernels.get(kernel)
        if at is None:
            at = self.kernels[kernel] = self.size
            self.size += len(kernel)
        return at


@dataclass(frozen=True, slots=True, eq=False)
class Residency:
    """The kernels' addresses in the micro-op memory, and the loads of the kernels.

    Attributes
    ----------
    uop
        For each command the address of its kernel in the micro-op memory; 0 for copies.
    loads
        Loads of micro-ops, each with the position of the command that it precedes.
    """

    uop: Ints
    loads: tuple[tuple[int, Copy], ...]


@dataclass(slots=True)
class _Memory:
    """The micro-op memory, as a cache of kernels with least-recently-used replacement."""

    sizes: Sequence[int]
    depth: int
    begins: dict[int, int] = field(default_factory=dict)
    """Addresses by kernel, least recently used first."""
    places: list[tuple[int, int]] = field(default_factory=list)
    """Address and kernel, in ascending order."""

    def use(self, kernel: int) -> int | None:
        """The address of a kernel; None if it is not resident."""
        at = self.begins.pop(kernel, None)
        if at is not None:
            self.begins[kernel] = at
        return at

    def allocate(self, kernel: int, keep: set[int]) -> int | None:
        """Allocate a kernel, and evict kernels outside `keep` for it; returns the address.

        None, without evicting any kernel, if the kernels to keep do not leave enough space.
        """
        places, evicted = [*self.places], list[int]()
        evictable = (each for each in self.begins if each not in keep)
        while (at := self._gap(places, self.sizes[kernel])) is None:
            oldest = next(evictable, None)
            if oldest is None:
                return None
            places.remove((self.begins[oldest], oldest))
            evicted.append(oldest)
        for other in evicted:
            del self.begins[other]
        insort(places, (at, kernel))
        self.begins[kernel], self.places = at, places
        return at

    def _gap(self, places: list[tuple[int, int]], size: int) -> int | None:
        """The first address with space for `size` micro-ops between kernels at these places."""
        at = 0
        for begin, kernel in places:
            if begin - at >= size:
                return at
            at = begin + self.sizes[kernel]
        return at if self.depth - at >= size else None


def load_kernels(
    kernel_of: Ints,
    operator: Ints,
    kernels: Sequence[Kernel],
    store: KernelStore,
    config: HardwareConfig,
    dram: int,
) -> Residency:
    """The residency of the kernels that commands need.

    Loading occupies compute. So as soon as one kernel of an operator is missing, all kernels that
    the operator will use are loaded, as far as they fit: usually when the operator begins and
    compute waits for data anyway.

    Parameters
    ----------
    kernel_of
        For each command the number of its kernel among the distinct `kernels`; -1 for copies.
    operator
        For each command the number of its operator, ascending.
    store
        The kernels in DRAM; new kernels are added.
    dram
        The store's address in DRAM, in micro-ops.
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
            missing = _load(ahead, memory, kernels, store, dram)
            loads += [(int(positions[at]), each) for each in missing]
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
    """Loads of the `wanted` kernels that are not resident, as far as they fit."""
    chosen: set[int] = set()
    loads: list[tuple[int, int, int]] = []
    for kernel in wanted:
        chosen.add(kernel)
        if memory.use(kernel) is not None:
            continue
        at = memory.allocate(kernel, chosen)
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
