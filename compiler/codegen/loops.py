"""Loops of LLVM blocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from compiler.codegen.lanes import I64, constant

__all__ = ["counted"]


@contextmanager
def counted(builder: Any, begin: Any, end: Any, surely: bool = False) -> Iterator[Any]:
    """What is written within runs for each number from `begin` up to, without, `end`.

    Yields the number, an `i64`. The test is at the end of the body: `surely` says that there is a
    first turn.
    """
    before = builder.block
    body, after = (builder.append_basic_block(name) for name in ("body", "after"))
    if surely:
        builder.branch(body)
    else:
        builder.cbranch(builder.icmp_signed("<", begin, end), body, after)
    builder.position_at_end(body)
    index = builder.phi(I64)
    index.add_incoming(begin, before)
    yield index
    following = builder.add(index, constant(I64, 1), flags=("nsw",))
    index.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, end), body, after)
    builder.position_at_end(after)
