"""Launches and their grids: the parts and back, and programs of other forms."""

from __future__ import annotations

import pytest

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.stmt import PrimFunc, Seq
from tandem.compiler.machines.gpu.launch import INTRINSICS, SHARED, grid_of, is_barrier, launch_of

LAUNCH = """\
func C_1(A: float32[64]) -> (C: float32[64]):
  for gpu.block in 2 blocks:
    alloc S: float32[32] @ shared
    alloc T: int32[4] @ shared
    for gpu.thread in 32 threads:
      S[gpu.thread] = A[gpu.block * 32 + gpu.thread]
      invoke barrier()
      C[gpu.block * 32 + gpu.thread] = S[31 - gpu.thread]
"""


def launch(old: str = "", new: str = "") -> PrimFunc:
    assert old in LAUNCH
    return parse(LAUNCH.replace(old, new) if old else LAUNCH, INTRINSICS)


def test_the_parts_and_back() -> None:
    whole = launch()
    grid = grid_of(whole)
    assert (grid.blocks, grid.threads) == (2, 32)
    assert [buffer.name for buffer in grid.shared] == ["S", "T"]
    assert {buffer.scope for buffer in grid.shared} == {SHARED}
    again = launch_of(whole.name, whole.inputs, whole.outputs, grid)
    assert again == whole
    assert text(again) == LAUNCH
    none = launch_of(whole.name, whole.inputs, whole.outputs, grid._replace(shared=()))
    assert "alloc" not in text(none)
    assert grid_of(none).body == grid.body


def test_barriers_are_told_apart() -> None:
    body = grid_of(launch()).body
    assert isinstance(body, Seq)
    store, barrier, *_ = body.body
    assert is_barrier(barrier)
    assert not is_barrier(store)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "for gpu.block in 2 blocks",
            "for gpu.block in 2",
            r"its outermost loop is not gpu\.block",
        ),
        ("for gpu.thread in 32 threads", "for gpu.thread in 32", r"it has no loop gpu\.thread"),
        ("alloc S: float32[32] @ shared", "alloc S: float32[32] @ local", "S of a block is in loc"),
        (
            "alloc T: int32[4] @ shared",
            "alloc T: int32[4]",
            "T of a block is in global, and not in",
        ),
    ],
)
def test_programs_of_other_forms(old: str, new: str, message: str) -> None:
    with pytest.raises(LoweringError, match=f"^C_1.*{message}"):
        grid_of(launch(old, new))


def test_a_program_without_loops() -> None:
    with pytest.raises(LoweringError, match="f is no launch: its outermost loop is not"):
        grid_of(parse("func f() -> (C: int32[]):\n  C[] = 1\n"))
