"""What GEMM and ALU touch: the micro-ops that a program has loaded, and where their loops lead."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hw.config import HardwareConfig
from hw.encoding import uop_layout
from hw.isa.hazards.report import Doubt
from hw.memories import MemoryId

__all__ = ["Loops", "MicroOps", "Places"]

Places = slice | npt.NDArray[np.intp]
"""Places in a table: in a row, or each by itself."""

Loops = tuple[int, int, int, int]
"""iter_out, its factor, iter_in, its factor."""

_KEPT = 4096
"""Sets of elements that are remembered: programs repeat a few kernels over and over."""


class MicroOps:
    """The micro-op memory as compute's LOADs leave it, one after the other."""

    def __init__(self, config: HardwareConfig) -> None:
        depth = config.depth(MemoryId.UOP)
        self._words = np.zeros(depth, dtype="<u4")
        self._doubts = np.full(depth, Doubt.UNLOADED, dtype=np.int8)
        self._fields = {field.name: (field.lsb, field.width) for field in uop_layout(config)}
        self._kernels: dict[tuple[int, int], bytes | Doubt] = {}
        self._bits = lru_cache(_KEPT)(self._bits_of)
        self._reach = lru_cache(_KEPT)(self._reach_of)

    def put(self, first: int, words: npt.NDArray[np.uint32], doubts: npt.NDArray[np.int8]) -> None:
        """A LOAD: elements from `first` on. A doubt of 0 is none."""
        self._kernels.clear()
        self._words[first : first + len(words)] = words
        self._doubts[first : first + len(words)] = doubts

    def kernel(self, begin: int, end: int) -> bytes | Doubt:
        """The micro-ops from `begin` up to `end`, or why they are not known."""
        found = self._kernels.get((begin, end))
        if found is None:
            doubt = int(self._doubts[begin:end].max())
            found = Doubt(doubt) if doubt else self._words[begin:end].tobytes()
            self._kernels[begin, end] = found
        return found

    def reach(self, kernel: bytes, field: str, loops: Loops, depth: int) -> Places | None:
        """The elements of a memory of `depth` that a field of `kernel` names in `loops`, or None
        where one lies beyond. The loops themselves must stay inside it (`Fault.SRAM_INDEX`)."""
        return self._reach(kernel, field, loops, depth)

    # Sets of elements are integers, a bit an element: to repeat a loop is to shift and to join.

    def _bits_of(self, kernel: bytes, field: str) -> int:
        lsb, width = self._fields[field]
        words = np.frombuffer(kernel, dtype="<u4")
        used = np.zeros(1 << width, dtype=np.bool_)
        used[(words >> np.uint32(lsb)) & np.uint32((1 << width) - 1)] = True
        return int.from_bytes(np.packbits(used, bitorder="little").tobytes(), "little")

    def _reach_of(self, kernel: bytes, field: str, loops: Loops, depth: int) -> Places | None:
        count_out, factor_out, count_in, factor_in = loops
        bits = self._bits(kernel, field)
        bits = _repeated(_repeated(bits, count_in, factor_in), count_out, factor_out)
        return None if bits.bit_length() > depth else _places(bits)


def _repeated(bits: int, count: int, step: int) -> int:
    """The union of `count` copies of a set, each moved `step` further."""
    done = 1 if step else count
    while done < count:
        # Copies 0 to done - 1 are there; those of `more` to done + more - 1 join them.
        more = min(done, count - done)
        bits |= bits << (more * step)
        done += more
    return bits


def _places(bits: int) -> Places:
    end = bits.bit_length()
    first = (bits & -bits).bit_length() - 1
    if bits.bit_count() == end - first:
        return slice(first, end)
    packed = np.frombuffer(bits.to_bytes(-(-end // 8), "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(packed, bitorder="little"))
