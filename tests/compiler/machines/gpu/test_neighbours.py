"""Neighbours in memory, by the indices of an access."""

from __future__ import annotations

import pytest

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.ir.expr import Expr, Var
from tandem.compiler.machines.gpu.neighbours import are_neighbours

ROW, J = Var("i"), Var("j")


@pytest.mark.parametrize(
    ("indices", "expected"),
    [
        ((ROW, J), True),
        ((ROW * 3, ROW * 2 + J + 1), True),
        ((J * 3, ROW * 2 + J + 1), False),
        ((J, ROW), False),
        ((ROW, J * 2), False),
        ((ROW, J // 2), False),
        ((ROW, J % 8 + J), False),
        ((ROW, ROW), False),
    ],
)
def test_by_indices(indices: tuple[Expr, ...], expected: bool) -> None:
    assert are_neighbours(Buffer("A", (16, 8), FLOAT32), indices, "j") == expected


def test_of_one_column() -> None:
    column = Buffer("A", (16, 1), FLOAT32)
    assert are_neighbours(column, (J + 2, ROW), "j")
