"""Images without the rows that no window reads, as a stage that is held on chip."""

from __future__ import annotations

from dataclasses import replace

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.expr import Expr, Load, Var
from tandem.compiler.ir.linear import linear
from tandem.compiler.ir.stmt import Alloc, Block, Store
from tandem.compiler.ir.visit import map_expressions, reads, rewrite_expr
from tandem.compiler.machines.accelerator.sketches.matching import block_called
from tandem.compiler.te.build import stage_nest
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import allocated, insert_before, map_blocks


def without_gaps(start: Schedule, sums: str, image: str) -> tuple[Schedule, str]:
    """The program with a stage of those rows of an image that sums read, and its name; itself and
    the image where every row is read, or all rows with gaps are single elements.

    Rows are read with gaps where an index is a multiple of one axis, and not that of the innermost
    dimension outside of an element, along which a LOAD takes whole runs.
    """
    program = start.program
    block = block_called(program, sums)
    load = next(each for each in reads(block) if each.buffer.name == image)
    extents = {axis.var.name: axis.extent for axis in block.iters}
    shape: list[int] = []
    inside: list[Expr] = []
    outside: list[Expr] = []
    last = len(load.indices) - 3
    for at, (index, extent) in enumerate(zip(load.indices, load.buffer.shape, strict=True)):
        step = _gap(index, extents)
        axis = Var(f"d{at}")
        if step is None or at >= last:
            shape.append(extent)
            inside.append(index)
            outside.append(axis)
        else:
            name, factor = step
            shape.append(extents[name])
            inside.append(Var(name))
            outside.append(axis * factor)
    if tuple(shape) == load.buffer.shape:
        return start, image
    name = f"{image}_rows"
    rows = Buffer(name, tuple(shape), load.buffer.dtype)
    places = tuple(Var(f"d{at}") for at in range(len(shape)))
    stage = stage_nest(Store(rows, places, Load(load.buffer, tuple(outside))))

    def change(node: Expr) -> Expr:
        return Load(rows, tuple(inside)) if node == load else node

    def reading(old: Block) -> Block:
        if old.name != sums:
            return old
        return replace(old, body=map_expressions(old.body, lambda expr: rewrite_expr(expr, change)))

    body = insert_before(map_blocks(program.body, reading), stage, name)
    found = Schedule(replace(program, body=Alloc(rows, body)))
    if image in allocated(program.body):
        found = found.compute_inline(image)
    return Schedule(found.program), name


def _gap(index: Expr, extents: dict[str, int]) -> tuple[str, int] | None:
    """The axis that an index is a multiple of, and the factor, if that is more than one."""
    found = linear(index)
    long = [
        (atom, factor)
        for atom, factor in found.terms
        if not (isinstance(atom, Var) and extents.get(atom.name) == 1)
    ]
    if len(long) != 1 or found.constant:
        return None
    atom, factor = long[0]
    if not isinstance(atom, Var) or atom.name not in extents or factor < 2:
        return None
    return atom.name, factor
