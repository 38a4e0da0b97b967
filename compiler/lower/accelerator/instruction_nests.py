"""Which part of a program becomes instructions as a whole."""

from __future__ import annotations

from typing import assert_never

from compiler.ir.buffer import Buffer, Scope
from compiler.ir.stmt import Alloc, Block, For, If, Invoke, LoopKind, Seq, Stmt, Store

__all__ = ["flat", "is_instruction", "is_load", "leaf"]


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
    return isinstance(inner, Store) and inner.buffer.scope in (Scope.INP, Scope.WGT)


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
