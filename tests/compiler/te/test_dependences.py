"""Dependences between iterations: which orders of a loop give the same result."""

from __future__ import annotations

import pytest

from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, INT32, DType
from tandem.compiler.ir.expr import Const, Expr, Load, Var
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.stmt import Block, For, Invoke, IterKind, LoopKind, PrimFunc, Seq, Store
from tandem.compiler.ir.visit import blocks
from tandem.compiler.te import (
    Tensor,
    all_along,
    compute,
    max,
    min,
    placeholder,
    prod,
    reduce_axis,
    sum,
)
from tandem.compiler.te.dependences import (
    axis_kinds,
    carried_dependence,
    reassociable,
    vectorization_obstacle,
)
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import find_loop
from tests.support.compiler.te.schedules import blur, matmul


def loop(schedule: Schedule, name: str) -> For:
    found = find_loop(schedule.program.body, name)
    assert found is not None
    return found


def test_what_loops_drive() -> None:
    start = Schedule.of(matmul())
    (block,) = blocks(start.program.body)
    assert axis_kinds("C.i", block) == {IterKind.SPATIAL}
    assert axis_kinds("C.k", block) == {IterKind.REDUCE}
    assert axis_kinds("C.z", block) == frozenset()
    (block,) = blocks(both_kinds())
    assert axis_kinds("L.i", block) == {IterKind.SPATIAL, IterKind.REDUCE}


def both_kinds() -> For:
    """A loop that drives a spatial axis and a reduction."""
    return only_loop("""
func f(A: int32[2, 2]) -> (T: int32[2]):
  for L.i in 4:
    block C(spatial j < 2 = L.i // 2, reduce k < 2 = L.i % 2):
      T[j] = T[j] + A[j, k]
""")


def only_loop(program: str) -> For:
    found = find_loop(parse(program).body, "L.i")
    assert found is not None
    return found


def reduced(dtype: DType, combine: object) -> Block:
    a = placeholder((4,), dtype, "A")
    k = reduce_axis(4, "k")
    assert callable(combine)
    (block,) = blocks(Schedule.of(compute((), lambda: combine(a[k], k), "R")).program.body)
    return block


@pytest.mark.parametrize(
    ("dtype", "combine", "free"),
    [
        (INT32, sum, True),
        (INT32, prod, True),
        (FLOAT32, sum, False),
        (FLOAT32, prod, False),
        (FLOAT32, max, True),
        (FLOAT32, min, True),
        (BOOL, all_along, True),
    ],
)
def test_orders_of_terms(dtype: DType, combine: object, free: bool) -> None:
    assert reassociable(reduced(dtype, combine)) is free


def test_what_is_no_sum_of_terms() -> None:
    out, other = Buffer("R", (), FLOAT32), Buffer("S", (), FLOAT32)
    one = Const(1.0, FLOAT32)

    def block(*body: Store | Invoke) -> Block:
        return Block("R", (), (), None, Seq(body))

    def store(value: Expr) -> Store:
        return Store(out, (), value)

    assert reassociable(block(store(one)))
    assert reassociable(block(store(Load(other, ()) + one)))
    assert not reassociable(block(store(Load(out, ()) + one)))
    assert not reassociable(block(store(one), store(Load(out, ()) + one)))
    add = PrimFunc("add", (), (out,), Seq(()))
    count = PrimFunc("count", (), (Buffer("n", (), INT32),), Seq(()))
    assert not reassociable(block(invoke(add)))
    assert reassociable(block(invoke(count)))
    assert not reassociable(block(invoke(count), invoke(add)))


def invoke(intrinsic: PrimFunc) -> Invoke:
    return Invoke(intrinsic, ())


def test_dependences_of_a_product() -> None:
    start = Schedule.of(matmul())
    assert carried_dependence(loop(start, "C.i")) is None
    assert carried_dependence(loop(start, "C.j")) is None
    assert carried_dependence(loop(start, "C.k")) == "C reduces along C.k"
    assert carried_dependence(both_kinds()) == "C reduces along L.i"


def test_stages_inside_a_loop() -> None:
    inside = Schedule.of(blur()).compute_at("blurx", "blury", "y")
    # The rows of blurx that an iteration needs are its own: nothing is carried.
    reason = carried_dependence(loop(inside, "blury.y"))
    assert reason is None or "blur" in reason
    assert carried_dependence(loop(inside, "blury.x")) is None
    outer = Buffer("T", (4,), FLOAT32)
    i = Var("L.i")
    copy = Block("one", (), (), None, Store(outer, (index(0),), Const(0.0, FLOAT32)))
    same = For(i, index(4), LoopKind.SERIAL, copy)
    assert carried_dependence(same) == "every iteration of L.i writes the same elements of T"


def chain() -> tuple[Tensor, Tensor]:
    a = placeholder((8,), FLOAT32, "a")
    one = compute((8,), lambda i: a[i] + 1.0, "one")
    two = compute((8,), lambda i: one[i] * 2.0, "two")
    return one, two


def test_a_reader_of_what_other_iterations_write() -> None:
    for read, wanted in (
        ("T[3 - i]", "two reads T, which other iterations of L.i write"),
        ("1.0", None),
    ):
        found = only_loop(f"""
func f() -> (T: float32[4], U: float32[4]):
  for L.i in 4:
    block one(spatial i < 4 = L.i):
      T[i] = 1.0
    block two(spatial i < 4 = L.i):
      U[i] = {read}
""")
        assert carried_dependence(found) == wanted
        assert vectorization_obstacle(found, False) == wanted
    _, two = chain()
    alone = Schedule.of(two).compute_at("one", "two", "i")
    assert carried_dependence(loop(alone, "two.i")) is None


def test_vector_lanes() -> None:
    start = Schedule.of(matmul())
    assert vectorization_obstacle(loop(start, "C.j"), False) is None
    k = loop(start, "C.k")
    first = "C is initialised inside C.k: decompose_reduction first"
    assert vectorization_obstacle(k, False) == first
    assert vectorization_obstacle(k, True) == first
    apart = start.decompose_reduction("C", "k")
    assert vectorization_obstacle(loop(apart, "C.k"), False) == (
        "C adds floats along C.k; lanes add in another order, which changes roundings: reassociate "
        "permits it"
    )
    assert vectorization_obstacle(loop(apart, "C.k"), True) is None
    # Maxima are the same in every order.
    a = placeholder((4,), FLOAT32, "A")
    axis = reduce_axis(4, "k")
    most = Schedule.of(compute((), lambda: max(a[axis], axis), "R")).decompose_reduction("R", "k")
    assert vectorization_obstacle(loop(most, "R.k"), False) is None


def test_what_is_inside_vector_lanes() -> None:
    inner = Schedule.of(matmul()).vectorize("C", "j")
    assert vectorization_obstacle(loop(inner, "C.i"), False) == ("loop C.j inside it is vectorized")
    threads = Schedule.of(matmul()).parallel("C", "j")
    assert vectorization_obstacle(loop(threads, "C.i"), False) == "loop C.j inside it is parallel"
    unrolled = Schedule.of(matmul()).unroll("C", "j")
    assert vectorization_obstacle(loop(unrolled, "C.i"), False) is None
    _, two = chain()
    alone = Schedule.of(two).compute_at("one", "two", "i").set_scope("one", Scope.LOCAL)
    assert vectorization_obstacle(loop(alone, "two.i"), False) == (
        "each lane would need a one of its own, allocated inside two.i"
    )
    mac = PrimFunc("mac", (), (Buffer("n", (), INT32),), Seq(()))
    lanes = For(Var("L.i"), index(4), LoopKind.SERIAL, invoke(mac))
    assert vectorization_obstacle(lanes, True) == "mac inside it is no operation on lanes"


def test_lanes_that_write_the_same() -> None:
    outer = Buffer("T", (4,), FLOAT32)
    body = Block("one", (), (), None, Store(outer, (index(0),), Const(0.0, FLOAT32)))
    assert vectorization_obstacle(For(Var("L.i"), index(4), LoopKind.SERIAL, body), True) == (
        "every iteration of L.i writes the same elements of T"
    )
    assert vectorization_obstacle(both_kinds(), True) == "C reduces along L.i"
