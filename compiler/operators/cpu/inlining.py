"""Which stages are computed wherever they are read, instead of being kept."""

from __future__ import annotations

from math import prod

from compiler.ir.expr import Load
from compiler.ir.stmt import Block, Function, Store
from compiler.ir.visit import blocks, expressions, statements, subexpressions
from compiler.te.schedule import Schedule
from compiler.te.tree import allocated, read_by

__all__ = ["inline_stages"]

_LONGEST = 200
"""Parts of an expression beyond which nothing more is put into it."""


def inline_stages(schedule: Schedule) -> Schedule:
    """Without the stages whose elements only one stage reads, each about once.

    Element-wise operators so become one with their reader; what is read several times, as a padded
    image by a convolution, stays. A stage that only moves elements goes into whatever reads
    elements one by one.
    """
    for name in [each.name for each in blocks(schedule.program.body)]:
        if _can_go(schedule.program, name):
            schedule = schedule.compute_inline(name)
    return schedule


def _can_go(program: Function, name: str) -> bool:
    block = next(each for each in blocks(program.body) if each.name == name)
    if block.init is not None or name not in allocated(program.body):
        return False
    readers = [each for each in blocks(program.body) if name in read_by(each)]
    if len(readers) != 1:
        return False
    reader = readers[0]
    if len({load.indices for load in _loads(reader, name)}) > 1:
        return False
    length = _length(block) * len(_loads(reader, name)) + _length(reader)
    moves = isinstance(block.body, Store) and isinstance(block.body.value, Load)
    once = _turns(reader) <= _turns(block) or (moves and reader.init is None)
    return once and length <= _LONGEST


def _loads(block: Block, name: str) -> list[Load]:
    return [
        each
        for stmt in statements(block)
        for expr in expressions(stmt)
        for each in subexpressions(expr)
        if isinstance(each, Load) and each.buffer.name == name
    ]


def _length(block: Block) -> int:
    exprs = [expr for stmt in statements(block.body) for expr in expressions(stmt)]
    return sum(1 for expr in exprs for _ in subexpressions(expr))


def _turns(block: Block) -> int:
    return prod(each.extent for each in block.iters)
