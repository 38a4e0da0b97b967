"""Every operator of `compiler.operators`, as the graph knows it.

They have the names of the functions that compute them: `conv2d`, `add`, `reduce_mean`.
"""

from compiler.graph.operators import (
    blocks,
    elementwise,
    parts,
    products,
    quantised,
    reductions,
    shapes,
)
from compiler.graph.opspec import Registry, registry

__all__ = ["OPERATORS"]

OPERATORS: Registry = registry(
    *elementwise.SPECS,
    *products.SPECS,
    *shapes.SPECS,
    *parts.SPECS,
    *reductions.SPECS,
    *quantised.SPECS,
    *blocks.SPECS,
)
