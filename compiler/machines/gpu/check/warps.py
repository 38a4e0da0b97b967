"""A proof that threads of a warp multiply matrices together: all of them come to each product, at
the same time and with operands that are parts of the same two matrices.

Races need nothing more: each element of these matrices belongs to several lanes, so that whoever
writes it without a barrier has a race with another thread, whichever lane loads it.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir.expr import Const, Expr
from tandem.compiler.ir.stmt import For, If, Invoke, LoopKind, PrimFunc, Region, Stmt
from tandem.compiler.ir.visit import children, variables
from tandem.compiler.machines.gpu.check.arrays import UnknownError, value
from tandem.compiler.machines.gpu.launch import BLOCK, THREAD, grid_of
from tandem.compiler.machines.gpu.warps import LANE_COLUMNS, LANE_ROWS, WARP, is_warp_product

_MOST = 1 << 25
"""The most threads and iterations that are looked at one by one."""


class WarpError(LoweringError):
    """A product of matrices that not all threads of a warp compute together; names the product and
    the launch."""


def check_warps(launch: PrimFunc) -> None:
    """Raise `WarpError` unless all threads of a warp come to all of its products together, those of
    a row with the same left operand and those of a column with the same right one."""
    grid = grid_of(launch)
    extents = {BLOCK.name: grid.blocks, THREAD.name: grid.threads}
    try:
        _check(grid.body, extents, None)
    except WarpError as error:
        raise WarpError(f"{launch.name}: {error}") from None


def _check(stmt: Stmt, extents: dict[str, int], diverging: str | None) -> None:
    """Look at the products in a statement.

    Parameters
    ----------
    extents
        The values of variables of loops around, from 0 on, by name.
    diverging
        What around the statement may let only some threads come to it; None if nothing.
    """
    if isinstance(stmt, Invoke) and is_warp_product(stmt):
        name = stmt.intrinsic.name
        if diverging is not None:
            raise WarpError(f"{name} {diverging}, which may diverge")
        if extents[THREAD.name] % WARP:
            raise WarpError(f"{name} on {extents[THREAD.name]} threads, which are no whole warps")
        _, left, right = stmt.operands
        _check_shared(name, left, extents, "rows", axis=2)
        _check_shared(name, right, extents, "columns", axis=1)
        return
    match stmt:
        case If():
            diverging = "is under a condition"
        case For(var=var, extent=Const(value=extent), kind=LoopKind.SERIAL | LoopKind.UNROLLED):
            extents = {**extents, var.name: int(extent)}
        case For(var=var):
            diverging = f"is in the loop {var.name}"
        case _:
            pass
    for child in children(stmt):
        _check(child, extents, diverging)


def _check_shared(name: str, region: Region, extents: dict[str, int], what: str, axis: int) -> None:
    """Raise `WarpError` unless lanes that differ along one axis of a warp have the same operand."""
    for index in region.lower:
        if THREAD.name not in variables(index):
            continue
        found = _of_all(name, index, extents)
        lanes = found.reshape(-1, extents[THREAD.name] // WARP, LANE_ROWS, LANE_COLUMNS)
        first = lanes.take([0], axis + 1)
        if (lanes != first).any():
            raise WarpError(
                f"{name} of {region.buffer.name}: lanes with the same {what} have not the same "
                "operand"
            )


def _of_all(name: str, index: Expr, extents: dict[str, int]) -> Any:
    """The values of an index, of which the last axis are threads."""
    used = variables(index) | {THREAD.name}
    names = [each for each in extents if each in used and each != THREAD.name]
    shape = [extents[each] for each in (*names, THREAD.name)]
    if prod(shape) > _MOST or not used <= extents.keys():
        raise WarpError(f"{name}: which thread has which operand is not known")
    values = {}
    for number, variable in enumerate((*names, THREAD.name)):
        along = [1] * len(shape)
        along[number] = extents[variable]
        values[variable] = np.arange(extents[variable], dtype=np.int64).reshape(along)
    try:
        return np.broadcast_to(value(index, values), shape)
    except UnknownError:
        raise WarpError(f"{name}: which thread has which operand is not known") from None
