"""cache_read, cache_write, set_scope: before and after, results, refusals."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.te.schedules import agree, blur, matmul


def test_golden(golden: Callable[[str, str], None]) -> None:
    start = Schedule.of(matmul())
    cached = start.cache_write("C", Scope.LOCAL).split("C", "i", 3, ("i", "ii"))
    cached = cached.compute_at("C_local", "C", "i").cache_read("B", ("C_local",), Scope.LOCAL)
    golden("schedules/caches.txt", str(cached.compute_at("B_local", "C_local", "j")))
    agree(cached, start)


@pytest.mark.parametrize("axis", ["i", "j", "k"])
def test_a_copy_of_an_input_at_every_loop(axis: str) -> None:
    start = Schedule.of(matmul())
    for buffer in "AB":
        cached = start.cache_read(buffer, ("C",), Scope.LOCAL, "copy")
        agree(cached, start)
        agree(cached.compute_at("copy", "C", axis), start)


def test_a_copy_of_an_intermediate() -> None:
    start = Schedule.of(blur())
    agree(start.cache_read("blurx", ("blury",), Scope.LOCAL), start)
    at = start.compute_at("blurx", "blury", "y").cache_read("blurx", ("blury",), Scope.LOCAL)
    agree(at.compute_at("blurx_local", "blury", "x"), start)


@pytest.mark.parametrize("axis", ["i", "j"])
def test_sums_in_a_buffer_of_their_own(axis: str) -> None:
    start = Schedule.of(matmul())
    cached = start.cache_write("C", Scope.LOCAL, "sums")
    agree(cached, start)
    agree(cached.compute_at("sums", "C", axis), start)


def test_an_intermediate_s_own_buffer() -> None:
    start = Schedule.of(blur())
    agree(start.cache_write("blurx", Scope.LOCAL).compute_at("blurx", "blury", "y"), start)


def test_scopes(golden: Callable[[str, str], None]) -> None:
    start = Schedule.of(blur())
    golden("schedules/set_scope.txt", str(start.set_scope("blurx", Scope.LOCAL)))
    agree(start.set_scope("blurx", Scope.LOCAL), start)


def test_refuses() -> None:
    start = Schedule.of(blur())
    with pytest.raises(ScheduleError, match="there is no buffer nothing"):
        start.cache_read("nothing", ("blury",), Scope.LOCAL)
    with pytest.raises(ScheduleError, match="blury does not read image"):
        start.cache_read("image", ("blury",), Scope.LOCAL)
    with pytest.raises(ScheduleError, match="at least one reader"):
        start.cache_read("image", (), Scope.LOCAL)
    with pytest.raises(ScheduleError, match="there is a blury already"):
        start.cache_read("image", ("blurx",), Scope.LOCAL, "blury")
    with pytest.raises(ScheduleError, match="image is an input or an output"):
        start.set_scope("image", Scope.LOCAL)
    product = Schedule.of(matmul())
    with pytest.raises(ScheduleError, match="C reads C to update it"):
        product.cache_read("C", ("C",), Scope.LOCAL)
    with pytest.raises(ScheduleError, match="C is decomposed: cache_write comes first"):
        product.decompose_reduction("C", "k").cache_write("C", Scope.LOCAL)
    with pytest.raises(ScheduleError, match="blurx has another layout: cache_read before set_lay"):
        start.set_layout("blurx", ("1", "0")).cache_read("blurx", ("blury",), Scope.LOCAL)
