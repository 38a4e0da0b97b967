"""The registry of operators; names are those of the functions in `compiler.operators`."""

from tandem.compiler.graph.operators import (
    compressed,
    elementwise,
    indexed,
    layouts,
    parts,
    products,
    quantised,
    reductions,
    shapes,
)
from tandem.compiler.graph.opspec import Registry, registry

__all__ = ["OPERATORS"]

OPERATORS: Registry = registry(
    *elementwise.SPECS,
    *products.SPECS,
    *shapes.SPECS,
    *parts.SPECS,
    *reductions.SPECS,
    *quantised.SPECS,
    *compressed.SPECS,
    *layouts.SPECS,
    *indexed.SPECS,
)
