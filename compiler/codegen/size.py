"""How much code a program becomes."""

from __future__ import annotations

from compiler.codegen.vectorize import constant_extent, cut
from compiler.errors import CodegenError
from compiler.ir.stmt import For, Function, Invoke, LoopKind, Stmt, Store
from compiler.ir.visit import children

__all__ = ["MOST_STATEMENTS", "check_size"]

MOST_STATEMENTS = 20_000
"""Stores and intrinsics, written out: about half a minute of compiling."""


def check_size(function: Function, register_bits: int) -> None:
    """Refuse a program that unrolling makes too long to compile; name the loops around most."""
    count, loops = _written(function.body, register_bits, False)
    if count > MOST_STATEMENTS:
        raise CodegenError(
            f"{function.name}: unrolled and vectorized loops write out {count} statements, more "
            f"than {MOST_STATEMENTS}; most of them inside {', '.join(loops)}"
        )


def _written(stmt: Stmt, register_bits: int, in_lanes: bool) -> tuple[int, tuple[str, ...]]:
    """Copies of stores and intrinsics, and the loops that copy most of them."""
    if isinstance(stmt, Store | Invoke):
        return 1, ()
    copies = 1
    names: tuple[str, ...] = ()
    if isinstance(stmt, For) and stmt.kind in (LoopKind.UNROLLED, LoopKind.VECTORIZED):
        if stmt.kind is LoopKind.UNROLLED or in_lanes:
            copies = constant_extent(stmt)
        else:
            copies, in_lanes = len(cut(stmt, register_bits)), True
        names = (stmt.var.name,)
    found = [_written(each, register_bits, in_lanes) for each in children(stmt)]
    most = max(found, default=(0, ()))
    return copies * sum(count for count, _ in found), (*names, *most[1])
