"""Which part of a program becomes instructions as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from compiler.intrinsics.scopes import OnChip
from compiler.ir.buffer import Buffer
from compiler.ir.stmt import Alloc, Block, For, If, Invoke, LoopKind, Seq, Stmt, Store
from compiler.ir.visit import children
from compiler.te.tree import written_by

__all__ = ["flat", "is_instruction", "is_load", "leaf", "written_whole"]


def is_instruction(stmt: Stmt) -> bool:
    """Whether a statement is loops, and conditions, around a single copy or tensor instruction.

    Unrolled loops are never part of an instruction: each of their turns is one of its own.
    """
    match stmt:
        case Store() | Invoke():
            return True
        case For(kind=kind, body=body):
            return kind is LoopKind.SERIAL and is_instruction(body)
        case If(body=body):
            return is_instruction(body)
        case Seq() | Alloc() | Block():
            return False
        case _:
            assert_never(stmt)


def leaf(stmt: Stmt) -> Store | Invoke:
    """What an instruction's loops are around."""
    while not isinstance(stmt, Store | Invoke):
        assert isinstance(stmt, For | If), "an instruction"
        stmt = stmt.body
    return stmt


def is_load(stmt: Stmt) -> bool:
    """Whether an instruction is one of the load module's."""
    inner = leaf(stmt)
    return isinstance(inner, Store) and inner.buffer.scope in (OnChip.INP, OnChip.WGT)


def flat(stmt: Stmt) -> tuple[list[Buffer], list[Stmt]]:
    """What a sequence allocates, and what it does one after the other."""
    match stmt:
        case Alloc(buffer=buffer, body=body):
            buffers, parts = flat(body)
            return [buffer, *buffers], parts
        case Seq(body=body):
            found = [flat(each) for each in body]
            return [one for each, _ in found for one in each], [
                one for _, each in found for one in each
            ]
        case _:
            return [], [stmt]


def written_whole(buffer: Buffer, body: Stmt) -> bool:
    """Whether one instruction writes all of a buffer that is ever read, in each of its lives.

    No loop lies between its allocation and that instruction, but for virtual threads, which have a
    slice each: what the instruction leaves out, nobody has written.
    """
    writers = [each for each in _instructions(body, ()) if buffer.name in written_by(each[0])]
    if len(writers) != 1:
        return False
    stmt, around = writers[0]
    store = leaf(stmt)
    return (
        isinstance(store, Store)
        and all(each.kind is LoopKind.UNROLLED for each in around)
        and {each.var for each in around} == set(store.indices[: len(around)])
    )


def _instructions(stmt: Stmt, around: tuple[For, ...]) -> Iterator[tuple[Stmt, tuple[For, ...]]]:
    """Every instruction, and the loops around it."""
    if is_instruction(stmt):
        yield stmt, around
    else:
        inside = (*around, stmt) if isinstance(stmt, For) else around
        for each in children(stmt):
            yield from _instructions(each, inside)
