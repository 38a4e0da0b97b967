"""The primitives of schedules: program transformations that keep the result."""

from compiler.te.primitives.annotate import Eager, Parallel, Unroll, Vectorize, VirtualThread
from compiler.te.primitives.base import Primitive
from compiler.te.primitives.caches import CacheRead, CacheWrite
from compiler.te.primitives.compute_at import ComputeAt
from compiler.te.primitives.compute_inline import ComputeInline
from compiler.te.primitives.decompose import DecomposeReduction
from compiler.te.primitives.fuse import Fuse
from compiler.te.primitives.partition import Partition
from compiler.te.primitives.reorder import Reorder
from compiler.te.primitives.skip_terms import SkipTerms
from compiler.te.primitives.split import Split
from compiler.te.primitives.storage import MultiBuffer, SetLayout, SetScope
from compiler.te.primitives.tensorize import Tensorize

__all__ = [
    "PRIMITIVES",
    "CacheRead",
    "CacheWrite",
    "ComputeAt",
    "ComputeInline",
    "DecomposeReduction",
    "Eager",
    "Fuse",
    "MultiBuffer",
    "Parallel",
    "Partition",
    "Primitive",
    "Reorder",
    "SetLayout",
    "SetScope",
    "SkipTerms",
    "Split",
    "Tensorize",
    "Unroll",
    "Vectorize",
    "VirtualThread",
]

PRIMITIVES: dict[str, type[Primitive]] = {
    kind.name: kind
    for kind in (
        Split,
        Fuse,
        Reorder,
        ComputeAt,
        ComputeInline,
        CacheRead,
        CacheWrite,
        SetScope,
        SetLayout,
        MultiBuffer,
        DecomposeReduction,
        SkipTerms,
        Partition,
        Tensorize,
        VirtualThread,
        Vectorize,
        Unroll,
        Parallel,
        Eager,
    )
}
"""Every primitive, by its name in traces."""
