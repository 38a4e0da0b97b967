"""Random programs of virtual threads mean the same after they are interleaved."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.ir import interpreter
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.stmt import For, LoopKind, Seq, Stmt
from tandem.compiler.ir.verify import verify
from tandem.compiler.ir.visit import children, loops, statements
from tandem.compiler.machines.accelerator.lower.instruction_nests import is_instruction, is_load
from tandem.compiler.machines.accelerator.lower.virtual_threads import InterleaveThreads
from tests.compiler.machines.accelerator.lower.random_threads import RandomThreads


def _instructions(stmt: Stmt) -> Iterator[Stmt]:
    """The statements in unrolled loops, and in sequences of them."""
    if is_instruction(stmt):
        yield stmt
    else:
        assert isinstance(stmt, Seq) or (isinstance(stmt, For) and stmt.kind is LoopKind.UNROLLED)
        for child in children(stmt):
            yield from _instructions(child)


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_random_threads_mean_the_same(rng: random.Random) -> None:
    """And threads alternate after runs of instructions that are all loads, or none."""
    function = RandomThreads(rng).program()
    found = InterleaveThreads().apply(function)
    verify(found)
    kinds = {LoopKind.SERIAL, LoopKind.UNROLLED}
    assert {each.kind for each in loops(found.body)} <= kinds
    for loop in statements(found.body):
        if isinstance(loop, For) and loop.kind is LoopKind.UNROLLED:
            assert len({is_load(one) for one in _instructions(loop)}) == 1
    array = np.array([3, -5, 7, 11], np.int64)
    (wanted,) = interpreter.run(function, [array], complete=False)
    (got,) = interpreter.run(found, [array], complete=False)
    np.testing.assert_array_equal(got, wanted, text(function))
