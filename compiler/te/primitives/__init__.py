"""The primitives of schedules: program transformations that keep the result."""

from tandem.compiler.te.primitives.annotate import Eager, Parallel, Unroll, Vectorize, VirtualThread
from tandem.compiler.te.primitives.base import Primitive
from tandem.compiler.te.primitives.bind import Bind
from tandem.compiler.te.primitives.caches import CacheRead, CacheWrite
from tandem.compiler.te.primitives.compute_at import ComputeAt
from tandem.compiler.te.primitives.compute_inline import ComputeInline
from tandem.compiler.te.primitives.decompose import DecomposeReduction
from tandem.compiler.te.primitives.fuse import Fuse
from tandem.compiler.te.primitives.partition import Partition
from tandem.compiler.te.primitives.reorder import Reorder
from tandem.compiler.te.primitives.rfactor import RFactor
from tandem.compiler.te.primitives.skip_terms import SkipTerms
from tandem.compiler.te.primitives.split import Split
from tandem.compiler.te.primitives.storage import MultiBuffer, SetLayout, SetScope
from tandem.compiler.te.primitives.tensorize import Tensorize

__all__ = [
    "PRIMITIVES",
    "Bind",
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
    "RFactor",
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
        RFactor,
        SkipTerms,
        Partition,
        Tensorize,
        VirtualThread,
        Vectorize,
        Unroll,
        Parallel,
        Eager,
        Bind,
    )
}
"""Every primitive, by its name in traces."""
