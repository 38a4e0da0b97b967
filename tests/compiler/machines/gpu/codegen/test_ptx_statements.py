"""Statements of a thread: their instructions, and what they do, run on this processor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.dtypes import FLOAT64, INT8, INT32
from tandem.compiler.ir.expr import Expr, Load, Var
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.ops import cast, const, index
from tandem.compiler.ir.stmt import (
    Alloc,
    Block,
    For,
    If,
    Invoke,
    LoopKind,
    PrimFunc,
    Region,
    Seq,
    Stmt,
    Store,
)
from tandem.compiler.machines.cpu.codegen.frame import Frame
from tandem.compiler.machines.gpu.codegen.ptx_statements import emit
from tandem.compiler.machines.gpu.intrinsics import DOT_PRODUCTS
from tandem.compiler.machines.gpu.launch import SHARED, WAIT
from tests.support.compiler.machines.cpu.emitted import (
    SSE,
    frame_of,
    instructions,
    opcodes,
    run_emitted,
)

SIZE = 12
A, OUT = Buffer("A", (SIZE,), INT32), Buffer("out", (SIZE,), INT32)
FIRST, SECOND, COUNT = (Var(name) for name in "ijn")
NEAR = Buffer("near", (3,), INT32, Scope.LOCAL)


def emitted(stmt: Stmt, *others: Buffer) -> Frame:
    """The frame of a statement that reads A and writes out; n is a number up to 12."""
    frame = frame_of(SSE, A, OUT, *others, numbers="n")
    frame.ranges["n"] = Interval(0, SIZE)
    for name in ("near", "wide", "none"):
        frame.tags = {**frame.tags, name: frame.tags["A"]}
    emit(frame, stmt)
    return frame


def ran(stmt: Stmt, n: int = 0) -> list[int]:
    """What is written, of what was -1, by a statement that reads 0, 10, 20, ..."""
    found = np.full(SIZE, -1, np.int32)
    run_emitted(emitted(stmt), 10 * np.arange(SIZE, dtype=np.int32), found, n)
    return [int(each) for each in found]


def a(at: Expr) -> Expr:
    return Load(A, (at,))


def loop(var: Var, extent: Expr, body: Stmt, kind: LoopKind = LoopKind.SERIAL) -> For:
    return For(var, extent, kind, body)


def written(values: Sequence[int]) -> list[int]:
    return [*values, *[-1] * (SIZE - len(values))]


def test_stores_in_order() -> None:
    stmt = Seq((Store(OUT, (index(1),), a(index(2)) + 5), Store(OUT, (index(0),), a(index(3)))))
    assert ran(stmt) == written([30, 25])
    again = Seq((Store(OUT, (index(0),), a(index(2))), Store(OUT, (index(0),), a(index(4)))))
    assert ran(again) == written([40])


def test_conditions() -> None:
    stmt = If(COUNT < 3, Store(OUT, (COUNT,), a(COUNT + 1)))
    assert ran(stmt, 2) == [-1, -1, 30, *[-1] * 9]
    assert ran(stmt, 3) == written([])
    # What is computed under a condition is not there behind it.
    later = Seq(
        (If(COUNT < 3, Store(OUT, (COUNT * 2,), a(COUNT))), Store(OUT, (COUNT * 2 + 1,), a(COUNT)))
    )
    assert opcodes(emitted(later)).count("mul") == 2
    assert ran(later, 4) == [*[-1] * 9, 40, -1, -1]


@pytest.mark.parametrize("kind", [LoopKind.SERIAL, LoopKind.UNROLLED, LoopKind.VECTORIZED])
def test_loops(kind: LoopKind) -> None:
    stmt = loop(FIRST, index(3), Store(OUT, (FIRST,), a(FIRST * 2) + cast(FIRST, INT32)), kind)
    assert ran(stmt) == written([0, 21, 42])
    assert opcodes(emitted(stmt)).count("store") == (1 if kind is LoopKind.SERIAL else 3)
    inner = loop(SECOND, index(3), Store(OUT, (FIRST * 3 + SECOND,), a(SECOND)), kind)
    assert ran(loop(FIRST, index(4), inner)) == [0, 10, 20] * 4


def test_extents() -> None:
    """One iteration is no loop; others are counted in 32 bits where they fit, and what is not known
    may be none."""
    store = Store(OUT, (index(0),), cast(FIRST, INT32))

    def words(extent: Expr) -> list[str]:
        return opcodes(emitted(loop(FIRST, extent, store)))

    assert "phi" not in words(index(1))
    assert "icmp" not in words(index(1))
    assert ran(loop(FIRST, index(1), Store(OUT, (FIRST,), a(FIRST + 2)))) == written([20])
    for extent, bits, tests in (
        (index(2), 32, 1),
        (index((1 << 31) - 1), 32, 1),
        (index(1 << 31), 64, 2),
        (index(0), 64, 2),
        (COUNT, 64, 2),
    ):
        frame = emitted(loop(FIRST, extent, store))
        (phi,) = (each for each in instructions(frame) if each.opname == "phi")
        assert str(phi.type) == f"i{bits}"
        assert opcodes(frame).count("icmp") == tests
    for n in (0, 1, 5):
        assert ran(loop(FIRST, COUNT, Store(OUT, (FIRST,), a(FIRST))), n) == written(
            [10 * k for k in range(n)]
        )
    assert ran(loop(FIRST, index(0), store)) == written([])


def test_known_extents_of_unrolled_loops() -> None:
    """Of an outer one that is written out, too."""
    inner = loop(SECOND, FIRST + 1, Store(OUT, (FIRST * 3 + SECOND,), a(SECOND)), LoopKind.UNROLLED)
    found = ran(loop(FIRST, index(3), inner, LoopKind.UNROLLED))
    assert found == [0, -1, -1, 0, 10, -1, 0, 10, 20, -1, -1, -1]
    with pytest.raises(CodegenError, match="f: i is unrolled, and its extent is not known"):
        emitted(loop(FIRST, COUNT, Store(OUT, (FIRST,), a(FIRST)), LoopKind.UNROLLED))


def test_ranges_of_loops() -> None:
    """A quotient of a loop's variable cannot be negative."""
    frame = emitted(loop(FIRST, index(9), Store(OUT, (FIRST // 2,), a(FIRST % 5))))
    assert {"udiv", "urem"} <= {*opcodes(frame)}
    assert {"sdiv", "srem"}.isdisjoint(opcodes(frame))


def test_memory_of_a_thread() -> None:
    stmt = Alloc(
        NEAR,
        Seq(
            (
                loop(FIRST, index(3), Store(NEAR, (FIRST,), a(FIRST) + 1)),
                loop(SECOND, index(3), Store(OUT, (SECOND,), Load(NEAR, (index(2) - SECOND,)))),
            )
        ),
    )
    assert ran(stmt) == written([21, 11, 1])
    memory = emitted(stmt).entry.block.instructions[0]
    assert (memory.opname, memory.align, str(memory.type)) == ("alloca", 4, "ptr")
    assert "alloca [3 x i32]" in str(memory)
    wide = Buffer("wide", (), FLOAT64, Scope.LOCAL)
    none = Buffer("none", (0,), INT8, Scope.LOCAL)
    for buffer, kind, align in ((wide, "[1 x double]", 8), (none, "[1 x i8]", 1)):
        memory = emitted(Alloc(buffer, Seq(()))).entry.block.instructions[0]
        assert f"alloca {kind}" in str(memory)
        assert memory.align == align
    late = Seq((Alloc(NEAR, Seq(())), Store(NEAR, (index(0),), const(1, INT32))))
    with pytest.raises(CodegenError, match="f: near is neither a parameter nor allocated here"):
        emitted(late)


@pytest.mark.parametrize("scope", [SHARED, Scope.GLOBAL])
def test_other_memory(scope: Scope) -> None:
    with pytest.raises(CodegenError, match=f"f: near of a thread lies in {scope.value}"):
        emitted(Alloc(Buffer("near", (3,), INT32, scope), Seq(())))


def test_barriers_and_dot_products() -> None:
    assert opcodes(emitted(Seq((WAIT, WAIT)))) == ["llvm.nvvm.barrier0"] * 2
    bytes_ = [Buffer(name, (8,), INT8) for name in ("x", "y")]
    regions: list[Region] = [Region(OUT, (index(2),), (1,))]
    regions += [Region(each, (index(4),), (4,)) for each in bytes_]
    frame = emitted(Invoke(DOT_PRODUCTS[INT8, INT8], tuple(regions)), *bytes_)
    assert "llvm.nvvm.idp4a.s.s" in opcodes(frame)


def test_what_launches_do_not_have() -> None:
    known = "but barriers, dot products and products of a warp"
    other = PrimFunc("other", (), (), Seq(()))
    blocks: list[tuple[Any, str]] = [
        (Invoke(other, ()), "Invoke"),
        (Block("b", (), (), None, Seq(())), "Block"),
    ]
    for stmt, name in blocks:
        with pytest.raises(CodegenError, match=f"f: launches have no {name}, {known}"):
            emitted(stmt)
