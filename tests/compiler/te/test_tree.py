"""Programs with other buffers: what changes, and what stays the very same."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from tandem.compiler.ir.printer import text
from tandem.compiler.ir.stmt import Alloc, PrimFunc, Stmt
from tandem.compiler.ir.visit import buffers_in, children, statements
from tandem.compiler.te.tree import map_buffers, read_by, written_by
from tests.support.compiler.ir.ir_strategies import functions


def mentions(stmt: Stmt, name: str) -> bool:
    declared = (each.buffer.name for each in statements(stmt) if isinstance(each, Alloc))
    return name in (*read_by(stmt), *written_by(stmt), *declared)


def same_but_for(old: Stmt, new: Stmt, name: str) -> None:
    if not mentions(old, name):
        assert new is old
        return
    assert new is not old
    for before, after in zip(children(old), children(new), strict=True):
        same_but_for(before, after, name)


@given(functions())
def test_statements_without_the_buffer_stay_the_very_same(function: PrimFunc) -> None:
    for buffer in buffers_in(function):
        other = replace(buffer, name="another")
        same_but_for(function.body, map_buffers(function.body, {buffer.name: other}), buffer.name)


@given(functions())
def test_a_new_name_stands_wherever_the_old_one_stood(function: PrimFunc) -> None:
    for buffer in buffers_in(function):
        other = replace(buffer, name="another")
        changed = map_buffers(function.body, {buffer.name: other})
        assert not mentions(changed, buffer.name)
        back = map_buffers(changed, {"another": buffer})
        assert back == function.body
        assert text(replace(function, body=back)) == text(function)


@given(functions())
def test_no_buffers_change_nothing(function: PrimFunc) -> None:
    assert map_buffers(function.body, {}) is function.body
