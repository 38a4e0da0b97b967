"""Which accesses are to neighbours in memory, so that several are one."""

from __future__ import annotations

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.expr import Expr, Var
from tandem.compiler.ir.linear import linear
from tandem.compiler.ir.visit import variables


def are_neighbours(buffer: Buffer, indices: tuple[Expr, ...], name: str) -> bool:
    """Whether a variable's next value is the next element in memory."""
    distance = 0
    for at, stride in zip(indices, buffer.strides, strict=True):
        for atom, factor in linear(at).terms:
            if name in variables(atom):
                if not isinstance(atom, Var):
                    return False
                distance += factor * stride
    return distance == 1
