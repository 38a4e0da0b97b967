"""Trees of loops: their shape, and their numbers."""

from __future__ import annotations

from math import log2

from tandem.compiler import te
from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.ir.stmt import LoopKind, PrimFunc
from tandem.compiler.lower.lowering import lower
from tandem.compiler.te import Schedule, compute, placeholder, reduce_axis
from tandem.compiler.tune.loop_trees import LOOP_NUMBERS, STATEMENT_NUMBERS, LoopTree, loop_tree

ROWS, COLUMNS, DEPTH = 4, 6, 8


def product(unrolled: bool = False) -> PrimFunc:
    """A product of matrices, and a pass over its result."""
    a = placeholder((ROWS, DEPTH), FLOAT32, "a")
    b = placeholder((COLUMNS, DEPTH), FLOAT32, "b")
    k = reduce_axis(DEPTH, "k")
    c = compute((ROWS, COLUMNS), lambda i, j: te.sum(a[i, k] * b[j, k], (k,)), "c", ("i", "j"))
    d = compute((ROWS, COLUMNS), lambda i, j: te.maximum(c[i, j], 0.0), "d", ("i", "j"))
    schedule = Schedule.of(d).decompose_reduction("c", "k")
    return lower((schedule.unroll("d", "j") if unrolled else schedule).program)


def shape(tree: LoopTree) -> object:
    """The trips of loops, with what is inside; statements are None."""
    if not tree.inside:
        return None
    return round(2 ** tree.numbers[0] - 1), [shape(each) for each in tree.inside]


def test_the_tree_of_a_product_and_a_pass() -> None:
    tree = loop_tree(product())
    terms = (COLUMNS, [None, (DEPTH, [None])])
    assert shape(tree) == (0, [(ROWS, [terms]), (ROWS, [(COLUMNS, [None])])])
    assert tree.height == 4
    # The root is no loop, all others are.
    assert tree.numbers[1] == 0
    assert [each.numbers[1] for each in tree.inside] == [1, 1]


def nodes(tree: LoopTree) -> list[LoopTree]:
    return [tree, *(node for each in tree.inside for node in nodes(each))]


def test_loops_and_statements_have_numbers_of_fixed_length() -> None:
    for node in nodes(loop_tree(product())):
        assert len(node.numbers) == (LOOP_NUMBERS if node.inside else STATEMENT_NUMBERS)


def test_statements_count_what_they_touch() -> None:
    statements = [node.numbers for node in nodes(loop_tree(product())) if not node.inside]
    start, terms, last = statements
    assert start[0] == last[0] == log2(1 + ROWS * COLUMNS)
    assert terms[0] == log2(1 + ROWS * COLUMNS * DEPTH)
    # A multiplication and an addition for each term, one comparison for each result.
    assert (start[2], terms[2], last[2]) == (0.0, log2(1 + 2), 1.0)
    # The first access is the one that writes: here to every element once.
    assert last[5:10] == (1.0, 1.0, log2(1 + 4 * ROWS * COLUMNS), 1.0, 1.0)


def test_the_kind_of_a_loop_is_a_number() -> None:
    plain, unrolled = (loop_tree(product(each)).inside[1].inside[0] for each in (False, True))
    kinds, pairs = list(LoopKind), zip(plain.numbers, unrolled.numbers, strict=True)
    differ = [at for at, (one, other) in enumerate(pairs) if one != other]
    assert differ == sorted(2 + kinds.index(each) for each in (LoopKind.SERIAL, LoopKind.UNROLLED))
