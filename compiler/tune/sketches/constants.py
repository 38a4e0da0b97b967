"""Stages of constants alone, computed once while compiling: packed weights."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from tandem.compiler.ir.stmt import For, PrimFunc, Stmt
from tandem.compiler.ir.visit import children
from tandem.compiler.te.tree import (
    NO_OP,
    allocated,
    read_by,
    replace_stmt,
    without_alloc,
    written_by,
)


@dataclass(frozen=True, slots=True)
class Hoisted:
    """A program without the stages of constants.

    Attributes
    ----------
    program
        Reads what these stages compute as inputs, which come last.
    packings
        The programs that compute these inputs, in their order.
    """

    program: PrimFunc
    packings: tuple[PrimFunc, ...]


def hoist_constants(program: PrimFunc, constants: Collection[str]) -> Hoisted:
    """Take copies of constants, of which nothing else writes an element, out of a program."""
    packings: list[PrimFunc] = []
    body = program.body
    for buffer in allocated(body).values():
        nests = [each for each in _nests(body) if buffer.name in written_by(each)]
        if len(nests) != 1:
            continue
        read = read_by(nests[0]) - {buffer.name}
        if written_by(nests[0]) != {buffer.name} or not read or not read <= set(constants):
            continue
        inputs = tuple(each for each in program.inputs if each.name in read)
        packings.append(PrimFunc(buffer.name, inputs, (buffer,), nests[0]))
        body = without_alloc(replace_stmt(body, nests[0], NO_OP), buffer.name)
    if not packings:
        return Hoisted(program, ())
    kept = [each for each in program.inputs if each.name in read_by(body)]
    packed = [packing.outputs[0] for packing in packings]
    return Hoisted(replace(program, inputs=(*kept, *packed), body=body), tuple(packings))


def _nests(stmt: Stmt) -> list[Stmt]:
    """The nests at the root of a program, in order."""
    if isinstance(stmt, For):
        return [stmt]
    found = [nest for child in children(stmt) for nest in _nests(child)]
    return found or [stmt]
