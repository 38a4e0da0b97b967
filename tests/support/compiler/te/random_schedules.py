"""Random tensor expressions and random primitives on them, determined by a seed."""

from __future__ import annotations

import random
from collections.abc import Callable

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.dtypes import FLOAT32, INDEX, INT8, INT32, UINT8, DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.stmt import Alloc, For
from tandem.compiler.ir.visit import blocks, loops, statements
from tandem.compiler.te import (
    Tensor,
    cast,
    compute,
    max,
    maximum,
    minimum,
    placeholder,
    reduce_axis,
    select,
    sum,
)
from tandem.compiler.te.primitives import (
    CacheRead,
    CacheWrite,
    ComputeAt,
    ComputeInline,
    DecomposeReduction,
    Fuse,
    MultiBuffer,
    Parallel,
    Partition,
    Primitive,
    Reorder,
    SetLayout,
    SetScope,
    Split,
    Unroll,
    Vectorize,
    VirtualThread,
)
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import LoopRef, axes_of

LARGEST = 7
"""The maximum extent of an input."""
DTYPES = (INT8, UINT8, INT32, FLOAT32)


def random_outputs(rng: random.Random) -> list[Tensor]:
    """One or two random output tensors, computed in one to four stages."""
    dtype = rng.choice(DTYPES)
    known = [_input(rng, dtype, number) for number in range(rng.randint(1, 2))]
    for number in range(rng.randint(1, 4)):
        known.append(rng.choice(STAGES)(rng, known, f"s{number}"))
    computed = [each for each in known if each.source is not None]
    outputs = [computed[-1]]
    if len(computed) > 1 and rng.random() < 0.15:
        outputs.insert(0, computed[-2])
    return outputs


def random_schedule(rng: random.Random, start: Schedule, attempts: int) -> tuple[Schedule, int]:
    """A schedule after random primitives, and the number of refused primitives."""
    schedule, refused = start, 0
    for _ in range(attempts):
        step = rng.choice(STEPS)(rng, schedule)
        if step is None:
            continue
        try:
            schedule = schedule.then(step)
        except ScheduleError:
            refused += 1
    return schedule, refused


# Stages -----------------------------------------------------------------------------------


def _input(rng: random.Random, dtype: DType, number: int) -> Tensor:
    rank = rng.choice((1, 2, 2, 3))
    shape = [rng.randint(1, LARGEST) for _ in range(rank)]
    return placeholder(shape, dtype, "ab"[number])


def _recent(rng: random.Random, known: list[Tensor]) -> Tensor:
    """One of the last two tensors, or, if those are scalars, an input."""
    recent = [each for each in known[-2:] if each.shape]
    return rng.choice(recent or known[:1])


def _point_wise(rng: random.Random, known: list[Tensor], name: str) -> Tensor:
    source = _recent(rng, known)
    same = [each for each in known if each.shape == source.shape]
    other = rng.choice(same)
    join: Callable[[Expr, Expr], Expr] = rng.choice(
        (lambda x, y: x + y, lambda x, y: x - y, maximum, minimum)
    )
    return compute(source.shape, lambda *i: join(source[i], other[i]), name)


def _stencil(rng: random.Random, known: list[Tensor], name: str) -> Tensor:
    source = _recent(rng, known)
    axis = rng.randrange(len(source.shape))
    reach = rng.randint(0, source.shape[axis] - 1)
    shape = [extent - reach * (at == axis) for at, extent in enumerate(source.shape)]

    def element(*i: Expr) -> Expr:
        moved = tuple(each + reach * (at == axis) for at, each in enumerate(i))
        return source[i] + source[moved]

    return compute(shape, element, name)


def _strided(rng: random.Random, known: list[Tensor], name: str) -> Tensor:
    source = _recent(rng, known)
    axis = rng.randrange(len(source.shape))
    shape = [(e + 1) // 2 if at == axis else e for at, e in enumerate(source.shape)]
    return compute(
        shape,
        lambda *i: source[tuple(e * 2 if at == axis else e for at, e in enumerate(i))] + 1,
        name,
    )


def _padded(rng: random.Random, known: list[Tensor], name: str) -> Tensor:
    source = _recent(rng, known)
    before = rng.randint(0, 2)
    shape = (source.shape[0] + before + rng.randint(0, 2), *source.shape[1:])

    def element(*i: Expr) -> Expr:
        within = (i[0] >= before) & (i[0] < before + source.shape[0])
        return select(within, source[(i[0] - before, *i[1:])], 0)

    return compute(shape, element, name)


def _transposed(rng: random.Random, known: list[Tensor], name: str) -> Tensor:
    source = _recent(rng, known)
    order = rng.sample(range(len(source.shape)), len(source.shape))
    shape = [source.shape[axis] for axis in order]

    def element(*i: Expr) -> Expr:
        return source[tuple(i[order.index(axis)] for axis in range(len(order)))]

    return compute(shape, element, name)


def _joined(rng: random.Random, known: list[Tensor], name: str) -> Tensor:
    """A random reduction along one axis or two."""
    source = _recent(rng, known)
    rank = len(source.shape)
    chosen = sorted(rng.sample(range(rank), rng.randint(1, min(2, rank))))
    axes = {axis: reduce_axis(source.shape[axis], f"r{axis}") for axis in chosen}
    shape = [extent for axis, extent in enumerate(source.shape) if axis not in axes]
    join = rng.choice((sum, sum, max))

    def element(*i: Expr) -> object:
        left = iter(i)
        at = tuple(axes[axis] if axis in axes else next(left) for axis in range(rank))
        return join(source[at], axis=tuple(axes.values()))

    return compute(shape, element, name)  # type: ignore[arg-type]


def _product(rng: random.Random, known: list[Tensor], name: str) -> Tensor:
    """The product X X^T of a matrix of the tensor, or a reduction if it has no such matrix."""
    source = _recent(rng, known)
    if len(source.shape) < 2 or source.source is not None:
        return _joined(rng, known, name)
    k = reduce_axis(source.shape[-1], "k")
    rest = (0,) * (len(source.shape) - 2)
    rows = source.shape[-2]
    return compute(
        (rows, rows), lambda i, j: sum(source[(*rest, i, k)] * source[(*rest, j, k)], k), name
    )


def _looked_up(rng: random.Random, known: list[Tensor], name: str) -> Tensor:
    source = _recent(rng, known)
    if source.dtype.is_float or 0 in source.shape:
        return _point_wise(rng, known, name)
    extent = source.shape[0]

    def element(*i: Expr) -> Expr:
        return source[(cast(source[i], INDEX) % extent, *i[1:])]

    return compute(source.shape, element, name)


STAGES = (
    _point_wise,
    _stencil,
    _stencil,
    _strided,
    _padded,
    _transposed,
    _joined,
    _joined,
    _product,
    _looked_up,
)


# Primitives -------------------------------------------------------------------------------


def _loop(rng: random.Random, schedule: Schedule) -> LoopRef | None:
    found = [LoopRef.of(each) for each in loops(schedule.program.body)]
    return rng.choice(found) if found else None


def _stage(rng: random.Random, schedule: Schedule) -> str:
    return rng.choice([each.name for each in blocks(schedule.program.body)])


def _buffer(rng: random.Random, schedule: Schedule) -> str:
    inside = [each.buffer for each in statements(schedule.program.body) if isinstance(each, Alloc)]
    return rng.choice([*schedule.program.inputs, *schedule.program.outputs, *inside]).name


def _split(rng: random.Random, schedule: Schedule) -> Primitive | None:
    loop = _loop(rng, schedule)
    return loop and Split(*loop, rng.randint(1, 5))


def _fuse(rng: random.Random, schedule: Schedule) -> Primitive | None:
    nested = [
        loop
        for loop in loops(schedule.program.body)
        if isinstance(loop.body, For) and LoopRef.of(loop.body).stage == LoopRef.of(loop).stage
    ]
    if not nested:
        return None
    outer = rng.choice(nested)
    assert isinstance(outer.body, For)
    return Fuse(*LoopRef.of(outer), LoopRef.of(outer.body).axis)


def _reorder(rng: random.Random, schedule: Schedule) -> Primitive | None:
    axes = axes_of(schedule.program.body, stage := _stage(rng, schedule))
    if len(axes) < 2:
        return None
    chosen = rng.sample(axes, rng.randint(2, len(axes)))
    return Reorder(stage, tuple(chosen), reassociate=rng.random() < 0.5)


def _bind(rng: random.Random, schedule: Schedule) -> Primitive | None:
    loop = _loop(rng, schedule)
    if loop is None:
        return None
    kind = rng.choice((Vectorize, Parallel, Unroll, VirtualThread))
    if kind is Vectorize:
        return Vectorize(*loop, reassociate=rng.random() < 0.5)
    return kind(*loop)


def _compute_at(rng: random.Random, schedule: Schedule) -> Primitive | None:
    loop = _loop(rng, schedule)
    return loop and ComputeAt(_stage(rng, schedule), *loop)


def _inline(rng: random.Random, schedule: Schedule) -> Primitive | None:
    return ComputeInline(_stage(rng, schedule))


def _cache_read(rng: random.Random, schedule: Schedule) -> Primitive | None:
    return CacheRead(
        _buffer(rng, schedule), (_stage(rng, schedule),), rng.choice((Scope.LOCAL, Scope.GLOBAL))
    )


def _cache_write(rng: random.Random, schedule: Schedule) -> Primitive | None:
    return CacheWrite(_stage(rng, schedule), rng.choice((Scope.LOCAL, Scope.GLOBAL)))


def _set_scope(rng: random.Random, schedule: Schedule) -> Primitive | None:
    return SetScope(_buffer(rng, schedule), Scope.LOCAL)


def _multi_buffer(rng: random.Random, schedule: Schedule) -> Primitive | None:
    return MultiBuffer(_buffer(rng, schedule), rng.randint(1, 3))


def _set_layout(rng: random.Random, schedule: Schedule) -> Primitive | None:
    name = _buffer(rng, schedule)
    inside = [each.buffer for each in statements(schedule.program.body) if isinstance(each, Alloc)]
    rank = next((len(each.shape) for each in inside if each.name == name), 1)
    order = []
    for axis in range(rank):
        factor = rng.choice((0, 2, 3))
        order += [f"{axis}/{factor}", f"{axis}%{factor}"] if factor else [str(axis)]
    rng.shuffle(order)
    return SetLayout(name, tuple(order))


def _decompose(rng: random.Random, schedule: Schedule) -> Primitive | None:
    loop = _loop(rng, schedule)
    return loop and DecomposeReduction(*loop)


def _partition(rng: random.Random, schedule: Schedule) -> Primitive | None:
    loop = _loop(rng, schedule)
    return loop and Partition(*loop, rng.randint(1, 4), rng.choice(("tail", "rest")))


STEPS: tuple[Callable[[random.Random, Schedule], Primitive | None], ...] = (
    _split,
    _split,
    _split,
    _fuse,
    _reorder,
    _reorder,
    _bind,
    _bind,
    _compute_at,
    _compute_at,
    _compute_at,
    _inline,
    _cache_read,
    _cache_write,
    _set_scope,
    _multi_buffer,
    _set_layout,
    _decompose,
    _partition,
)
