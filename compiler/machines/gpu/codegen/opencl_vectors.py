"""Copies of neighbouring elements in OpenCL C, all of a loop's in one load and one store."""

from __future__ import annotations

from tandem.compiler.ir.dtypes import BOOL
from tandem.compiler.ir.expr import Const, Load
from tandem.compiler.ir.interval import Ranges
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.stmt import For, LoopKind, Store
from tandem.compiler.ir.visit import substitute
from tandem.compiler.machines.gpu.codegen.opencl_expressions import Expressions
from tandem.compiler.machines.gpu.neighbours import are_neighbours

_SIZES = (2, 4, 8, 16)
"""Elements of OpenCL's vectors."""
_MOST_BYTES = 16
"""Of a vector: what GPUs load at once. pocl 3.0 had not compiled one of 64 after half a minute."""


def vector_copy(loop: For, of: Expressions, ranges: Ranges) -> str | None:
    """The statement of a vectorized loop that copies neighbours from one buffer to another; None
    for any other loop."""
    match loop:
        case For(
            var=var,
            extent=Const(value=size),
            kind=LoopKind.VECTORIZED,
            body=Store(buffer=to, indices=there, value=Load(buffer=source, indices=here)),
        ) if size in _SIZES and source.name != to.name and source.dtype == to.dtype:
            if to.dtype == BOOL or to.dtype.is_narrow:
                return None  # what they have in registers is not what they have in memory
            if size * to.dtype.numpy.itemsize > _MOST_BYTES:
                return None
            if not (are_neighbours(to, there, var.name) and are_neighbours(source, here, var.name)):
                return None
            first = {var.name: index(0)}
            read, written = (
                of.element(buffer, tuple(substitute(each, first) for each in indices), ranges)
                for buffer, indices in ((source, here), (to, there))
            )
            return f"vstore{size}(vload{size}(0, &{read}), 0, &{written});"
        case _:
            return None
