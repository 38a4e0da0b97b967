"""Tensor intrinsics in sketches: found by their behaviour, with the bits of the expressions."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from tandem.compiler import te
from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import FLOAT32, INT8, INT16, INT32, DType
from tandem.compiler.ir.expr import Expr, Var
from tandem.compiler.ir.ops import index, load
from tandem.compiler.ir.stmt import For, Invoke, LoopKind, PrimFunc, Store
from tandem.compiler.ir.visit import statements
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.intrinsics import CPU_INTRINSICS, dot_product
from tandem.compiler.te import Tensor, compute, placeholder, reduce_axis
from tandem.compiler.te.knobs import Setting
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tensor import Reduction
from tandem.compiler.tune.sketches.choosers import Chooser, Sampled
from tandem.compiler.tune.sketches.generate import Sketch, generate
from tandem.compiler.tune.sketches.rules import SketchRules
from tests.support.compiler.te.schedules import agree

DOT = dot_product("dot", INT8, lanes=4)


def dense(rows: int = 3, columns: int = 8, depth: int = 12, dtype: DType = INT32) -> Tensor:
    """A product of bytes by transposed bytes, with what follows."""
    x, w = placeholder((rows, depth), INT8, "x"), placeholder((columns, depth), INT8, "w")
    k = reduce_axis(depth, "k")
    sums = compute(
        (rows, columns),
        lambda i, j: te.sum(te.cast(x[i, k], dtype) * te.cast(w[j, k], dtype), axis=k),
        "sums",
    )
    return compute((rows, columns), lambda i, j: te.maximum(sums[i, j], 0), "out")


def convolution(channels: int = 8) -> Tensor:
    """Of an image whose channels are its first axis."""
    image = placeholder((channels, 6, 6), INT8, "image")
    weight = placeholder((8, channels, 3, 3), INT8, "weight")
    c, y, x = reduce_axis(channels, "c"), reduce_axis(3, "ky"), reduce_axis(3, "kx")

    def sums(o: Expr, i: Expr, j: Expr) -> Reduction:
        product = te.cast(image[c, i + y, j + x], INT32) * te.cast(weight[o, c, y, x], INT32)
        return te.sum(product, axis=(c, y, x))

    return compute((8, 4, 4), sums, "conv")


def squares() -> PrimFunc:
    """A user's own: four sums of two squares of differences of floats."""
    c, a, b = Buffer("C", (4,), FLOAT32), Buffer("A", (2,), FLOAT32), Buffer("B", (4, 2), FLOAT32)
    i, k = Var("squares.i"), Var("squares.k")
    away = load(a, k) - load(b, i, k)
    body = Store(c, (i,), load(c, i) + away * away)
    inner = For(k, index(2), LoopKind.SERIAL, body)
    return PrimFunc("squares", (c, a, b), (c,), For(i, index(4), LoopKind.SERIAL, inner))


def products() -> PrimFunc:
    """Four sums of two products of floats."""
    c, a, b = Buffer("C", (4,), FLOAT32), Buffer("A", (2,), FLOAT32), Buffer("B", (4, 2), FLOAT32)
    i, k = Var("products.i"), Var("products.k")
    body = Store(c, (i,), load(c, i) + load(a, k) * load(b, i, k))
    inner = For(k, index(2), LoopKind.SERIAL, body)
    return PrimFunc("products", (c, a, b), (c,), For(i, index(4), LoopKind.SERIAL, inner))


def distances() -> Tensor:
    """The squared distances of rows."""
    x, y = placeholder((6, 8), FLOAT32, "x"), placeholder((8, 8), FLOAT32, "y")
    k = reduce_axis(8, "k")
    return compute(
        (6, 8),
        lambda i, j: te.sum((x[i, k] - y[j, k]) * (x[i, k] - y[j, k]), axis=k),
        "distance",
    )


class Wanting(Chooser):
    """Takes an intrinsic wherever one is an option, and draws the rest."""

    def __init__(self, seed: int) -> None:
        self.sampled = Sampled(random.Random(seed))
        self.asked: list[tuple[Setting, ...]] = []

    def choose(self, name: str, options: Sequence[Setting]) -> Setting:
        if name.endswith(".tensor"):
            self.asked.append(tuple(options))
            return options[-1]
        return self.sampled.choose(name, options)


def drawn(
    output: Tensor, seed: int, intrinsics: tuple[PrimFunc, ...], constants: frozenset[str]
) -> tuple[Schedule, Sketch, Wanting]:
    """A sketch with an intrinsic, if there is one that fits."""
    start, chooser = Schedule.of(output), Wanting(seed)
    rules = SketchRules(register_bits=128, registers=32, intrinsics=intrinsics)
    for _ in range(8):
        try:
            return start, generate(start, rules, constants, chooser), chooser
        except ScheduleError:
            continue
    raise AssertionError("every sketch is refused")


def invoked(sketch: Sketch) -> set[str]:
    """The names of the intrinsics in a sketch."""
    found = statements(sketch.schedule.program.body)
    return {each.intrinsic.name for each in found if isinstance(each, Invoke)}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("output", [dense, convolution], ids=["dense", "convolution"])
def test_products_of_bytes_are_dot_products(output: Callable[[], Tensor], seed: int) -> None:
    constants = frozenset({"w", "weight"} if seed % 2 else ())
    start, sketch, _ = drawn(output(), seed, (DOT,), constants)
    assert invoked(sketch) == {"dot"}
    agree(sketch.schedule, start, seed)


def test_an_intrinsic_of_ones_own_is_found_by_what_it_computes() -> None:
    start, sketch, chooser = drawn(distances(), 1, (DOT, squares()), frozenset())
    assert {option for options in chooser.asked for option in options} == {"none", "squares.1.0"}
    assert invoked(sketch) == {"squares"}
    agree(sketch.schedule, start)


@pytest.mark.parametrize(
    "output",
    [dense(columns=6), dense(depth=10), dense(dtype=INT16)],
    ids=["results that are no tiles", "terms that are no tiles", "sums of another type"],
)
def test_what_does_not_fit_is_no_option(output: Tensor) -> None:
    _, sketch, chooser = drawn(output, 0, (DOT,), frozenset())
    assert not chooser.asked
    assert not invoked(sketch)


def test_what_computes_something_else_is_no_option() -> None:
    """Of the same types and extents: squared distances by an intrinsic of products."""
    _, sketch, chooser = drawn(distances(), 1, (products(),), frozenset())
    assert not chooser.asked
    assert not invoked(sketch)


def test_without_intrinsics_there_is_nothing_to_decide() -> None:
    _, sketch, chooser = drawn(dense(), 0, (), frozenset())
    assert not chooser.asked
    assert not [each for each in sketch.trace.decisions if each.name.endswith(".tensor")]


@pytest.mark.parametrize("seed", range(3))
def test_native_code(seed: int) -> None:
    target = CpuTarget.host(threads=1)
    known = {*target.features}
    intrinsics = tuple(each.function for each in CPU_INTRINSICS.values() if each.features <= known)
    if not intrinsics:
        pytest.skip("the processor has no dot products")
    start, sketch, _ = drawn(dense(5, 64, 32), seed, intrinsics, frozenset({"w"}))
    assert invoked(sketch)
    agree(sketch.schedule, start, seed, target)
