"""Which on-chip memories are too deep for instruction and micro-op words, and what would fit.

Words have fields for indices of memories, so that the depths of several memories share the bits of
one word. Shallower memories never make a word wider: fields are packed upward.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tandem.hw.encoding import EncodingConfig, WideWord, wide_words
from tandem.hw.features import Feature
from tandem.hw.topology import MemoryId

_TILES = (MemoryId.INP, MemoryId.WGT, MemoryId.ACC)
"""The memories that share words which can be too narrow: if these are shallow enough, all words
fit, for any depth of UOP."""
_SHARED = (MemoryId.UOP, *_TILES)

Reduction = Mapping[MemoryId, int]
"""By how much the log2 of a memory's depth has to fall."""


@dataclass(frozen=True, slots=True)
class DepthRemedies:
    """Shallower memories with which all words fit.

    Attributes
    ----------
    too_wide
        The words that do not fit.
    alone
        The memories of which one alone suffices, each with its least reduction.
    together
        A reduction of several memories, of which none can be smaller: the deepest ones fall first.
    """

    too_wide: tuple[WideWord, ...]
    alone: Reduction
    together: Reduction


def depth_remedies(config: EncodingConfig) -> DepthRemedies | None:
    """What to reduce so that all words of a configuration fit; None if they do."""
    too_wide = wide_words(config)
    if not too_wide:
        return None
    depths = _Depths(config.features, *map(config.index_bits, _SHARED))
    alone = {memory: least for memory in _SHARED if (least := _alone(depths, memory)) is not None}
    return DepthRemedies(too_wide, alone, _together(depths))


@dataclass(frozen=True, slots=True)
class _Depths:
    """The depths of memories as log2, and extensions: what the words depend on."""

    features: frozenset[Feature]
    uop: int
    inp: int
    wgt: int
    acc: int

    def index_bits(self, memory: MemoryId, /) -> int:
        """log2 of the number of elements of `memory`."""
        return getattr(self, memory.name.lower())

    def reduced(self, reduction: Reduction) -> _Depths:
        """These depths, some of them smaller."""
        fewer: dict[str, Any] = {
            memory.name.lower(): self.index_bits(memory) - by for memory, by in reduction.items()
        }
        return replace(self, **fewer)


def _alone(depths: _Depths, memory: MemoryId) -> int | None:
    """The least reduction of one memory with which all words fit; None if there is none."""
    reductions = range(1, depths.index_bits(memory))
    at = bisect_left(reductions, True, key=lambda by: not wide_words(depths.reduced({memory: by})))
    return reductions[at] if at < len(reductions) else None


def _together(depths: _Depths) -> Reduction:
    """A reduction of the deepest memories first, and then no more of each than is needed."""
    by = dict.fromkeys(_TILES, 0)
    while wide_words(now := depths.reduced(by)):
        by[max(_TILES, key=now.index_bits)] += 1
    for memory in _TILES:
        while by[memory] and not wide_words(depths.reduced({**by, memory: by[memory] - 1})):
            by[memory] -= 1
    return {memory: reduction for memory, reduction in by.items() if reduction}
