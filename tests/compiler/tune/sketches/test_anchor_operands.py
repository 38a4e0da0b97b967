"""Operands of anchors: which are packed and in which order, and what a tile copies."""

from __future__ import annotations

import pytest

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.dtypes import FLOAT32, INT8, INT32
from tandem.compiler.machines.cpu.intrinsics import dot_product
from tandem.compiler.te import Tensor, cast, compute, maximum, placeholder, reduce_axis, sum
from tandem.compiler.te.knobs import Setting
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import allocated
from tandem.compiler.tune.sketches.anchor_loops import split_out
from tandem.compiler.tune.sketches.anchor_operands import copy_reads, pack, pack_for
from tandem.compiler.tune.sketches.anchor_tiles import Anchor, AnchorTile
from tandem.compiler.tune.sketches.builder import Builder
from tandem.compiler.tune.sketches.stages import block_of
from tandem.compiler.tune.sketches.tensor_tiles import TensorTile
from tests.support.compiler.te.nests import nest
from tests.support.compiler.te.schedules import agree, matmul
from tests.support.compiler.tune.sketches import built

Options = dict[str, list[Setting]]
ANCHOR = Anchor("C", "out", (("i", "y"), ("j", "x")))
ALONG_COLUMNS = AnchorTile("j", {"i": 2, "j": 8})
ALONG_ROWS = AnchorTile("i", {"i": 3, "j": 4})


def packed(
    tensor: Tensor, tile: AnchorTile, *constants: str, **values: Setting
) -> tuple[Builder, dict[str, tuple[int, ...]], Options]:
    """The builder behind `pack`, the shapes of the copies and the options; the program computes
    what it did."""
    start = Schedule.of(tensor)
    builder, asked = built(start, **values)
    builder.constants = frozenset(constants)
    pack(builder, "s0", block_of(builder.program, "C"), tile)
    agree(builder.schedule, start)
    copies = allocated(builder.program.body)
    assert {copy.scope for copy in copies.values()} <= {Scope.GLOBAL}
    return builder, {name: copy.shape for name, copy in copies.items()}, asked


def test_what_vectors_read_stays() -> None:
    _, copies, asked = packed(matmul(6, 16, 5), ALONG_COLUMNS)
    assert (copies, asked) == ({}, {})


def test_constants_are_packed_where_it_is_decided() -> None:
    options: Options = {"s0.pack.a1": [0, 1]}
    builder, copies, asked = packed(matmul(6, 16, 5), ALONG_COLUMNS, "B")
    assert (copies, asked, builder.owners) == ({}, options, {})
    # Two tiles of columns, of five terms with eight lanes each.
    builder, copies, asked = packed(matmul(6, 16, 5), ALONG_COLUMNS, "B", s0__pack__a1=1)
    assert (copies, asked) == ({"B_packed": (2, 5, 8)}, options)
    assert builder.owners == {"B_packed": "B_packed"}
    assert builder.labels["B_packed"] == "s0.a1.packed"


def test_operands_that_no_vector_reads_are_packed() -> None:
    builder, copies, asked = packed(matmul(6, 16, 5), ALONG_ROWS)
    assert (copies, asked) == ({"A_packed": (2, 5, 3)}, {})
    assert builder.owners == {}
    builder, copies, asked = packed(matmul(6, 16, 5), ALONG_ROWS, "A")
    assert (copies, asked) == ({"A_packed": (2, 5, 3)}, {})
    assert builder.owners == {"A_packed": "A_packed"}


def of_columns(rows: int, columns: int, terms: int) -> Tensor:
    """A product whose first operand has terms before rows."""
    a, b = placeholder((terms, rows), FLOAT32, "A"), placeholder((terms, columns), FLOAT32, "B")
    k = reduce_axis(terms, "k")
    return compute((rows, columns), lambda i, j: sum(a[k, i] * b[k, j], axis=k), "C")


def test_a_constant_without_vectors_has_its_terms_last() -> None:
    builder, copies, _ = packed(of_columns(6, 16, 5), ALONG_COLUMNS, "A", s0__pack__a0=1)
    assert copies == {"A_packed": (6, 5)}
    assert builder.owners == {"A_packed": "A_packed"}


def test_stacked_operands() -> None:
    a, b = placeholder((2, 6, 5), FLOAT32, "A"), placeholder((2, 5, 16), FLOAT32, "B")
    k = reduce_axis(5, "k")
    tensor = compute((2, 6, 16), lambda n, i, j: sum(a[n, i, k] * b[n, k, j], axis=k), "C")
    tile = AnchorTile("j", {"n": 1, "i": 2, "j": 8})
    _, copies, _ = packed(tensor, tile, "B", s0__pack__a1=1)
    assert copies == {"B_packed": (2, 2, 5, 8)}


def test_operands_that_are_read_at_more_than_axes_stay() -> None:
    """Those behind them are packed all the same."""
    a, b = placeholder((10,), FLOAT32, "A"), placeholder((5, 16), FLOAT32, "B")
    k = reduce_axis(5, "k")
    tensor = compute((6, 16), lambda i, j: sum(a[i + k] * b[k, j], axis=k), "C")
    _, copies, asked = packed(tensor, ALONG_COLUMNS, "A", "B", s0__pack__a1=1)
    assert (copies, asked) == ({"B_packed": (2, 5, 8)}, {"s0.pack.a1": [0, 1]})


def dense() -> Tensor:
    """A product of bytes by transposed bytes."""
    x, w = placeholder((4, 12), INT8, "x"), placeholder((8, 12), INT8, "w")
    k = reduce_axis(12, "k")
    return compute(
        (4, 8), lambda i, j: sum(cast(x[i, k], INT32) * cast(w[j, k], INT32), axis=k), "C"
    )


@pytest.mark.parametrize("constants", [(), ("w",)])
def test_the_layouts_of_an_intrinsic(constants: tuple[str, ...]) -> None:
    """Four results of three terms each; the other operand has its terms last already."""
    dot = dot_product("dot", INT8, lanes=4)
    start = Schedule.of(dense())
    builder, asked = built(start)
    builder.constants = frozenset(constants)
    tile = TensorTile(dot, "j", "k", 4, 3)
    pack_for(builder, "s0", block_of(builder.program, "C"), tile)
    agree(builder.schedule, start)
    (copy,) = allocated(builder.program.body).values()
    assert (copy.name, copy.shape, copy.scope) == ("w_packed", (2, 4, 4, 3), Scope.GLOBAL)
    assert builder.labels["w_packed"] == "s0.a1.packed"
    assert builder.owners == {f"{name}_packed": f"{name}_packed" for name in constants}
    assert asked == {}


def test_operands_without_a_layout_of_an_intrinsic() -> None:
    dot = dot_product("dot", INT8, lanes=4)
    a, b, k = placeholder((4, 12), INT8, "a"), placeholder((19,), INT8, "b"), reduce_axis(12, "k")
    tensor = compute(
        (4, 8), lambda i, j: sum(cast(a[i, k], INT32) * cast(b[j + k], INT32), axis=k), "C"
    )
    builder, _ = built(Schedule.of(tensor))
    with pytest.raises(ScheduleError, match="b is read at more than axes"):
        pack_for(builder, "s0", block_of(builder.program, "C"), TensorTile(dot, "j", "k", 4, 4))


def copied(
    tile: AnchorTile, *constants: str, packs: bool = False, **values: Setting
) -> tuple[Builder, list[str], Options]:
    """The builder behind `copy_reads` in tiles of clipped products, its copies and the options."""
    sums = matmul(6, 16, 5)
    start = Schedule.of(compute((6, 16), lambda y, x: maximum(sums[y, x], 0.0), "out"))
    builder, asked = built(start, **values)
    builder.constants = frozenset(constants)
    block = block_of(builder.program, "C")
    if packs:
        pack(builder, "s0", block, tile)
    at = split_out(builder, "s0", ANCHOR, tile, {"i": 6, "j": 16})
    builder.schedule = builder.schedule.compute_at("C", "out", at)
    found = copy_reads(builder, "s0", ANCHOR, block, at)
    agree(builder.schedule, start)
    asked.pop("s0.innermost")
    return builder, found, asked


def test_a_tile_copies_nothing_by_default() -> None:
    builder, copies, asked = copied(ALONG_COLUMNS)
    assert asked == {"s0.read.a0": [0, 1], "s0.read.a1": [0, 1]}
    assert (copies, {*allocated(builder.program.body)}) == ([], {"C"})


def test_copies_of_what_a_tile_reads() -> None:
    builder, copies, _ = copied(ALONG_COLUMNS, s0__read__a1=1, s0__innermost=1)
    assert copies == ["B_read"]
    assert allocated(builder.program.body)["B_read"].scope is Scope.LOCAL
    # Five terms of the eight columns of a tile.
    assert nest(builder.schedule, "B_read") == "y:3 x:2 d0:5 d1:8"
    assert builder.labels["B_read"] == "s0.a1.copy"
    _, copies, _ = copied(ALONG_COLUMNS, s0__read__a0=1, s0__read__a1=1)
    assert copies == ["A_read", "B_read"]


def test_what_is_known_and_what_is_packed_is_not_copied() -> None:
    _, copies, asked = copied(ALONG_COLUMNS, "A", s0__read__a0=1, s0__read__a1=1)
    assert (copies, asked) == (["B_read"], {"s0.read.a1": [0, 1]})
    _, copies, asked = copied(ALONG_ROWS, packs=True, s0__read__a1=1)
    assert (copies, asked) == (["B_read"], {"s0.read.a1": [0, 1]})


def test_the_copy_of_sums_is_none() -> None:
    """A stage that has no name in decisions."""
    start = Schedule.of(matmul(6, 16, 5))
    builder, asked = built(start)
    builder.schedule = builder.schedule.cache_write("C", Scope.LOCAL, "C_sums")
    anchor = Anchor("C_sums", "C", (("i", "i"), ("j", "j")))
    block = block_of(builder.program, "C_sums")
    at = split_out(builder, "s0", anchor, ALONG_COLUMNS, {"i": 6, "j": 16})
    builder.schedule = builder.schedule.compute_at("C_sums", "C", at)
    assert copy_reads(builder, "s0", anchor, block, at) == []
    assert {*asked} == {"s0.innermost", "s0.read.a0", "s0.read.a1"}
