"""Entries of small tables, as expressions."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler import te
from tandem.compiler.ir.code_tables import entry_of, table_of
from tandem.compiler.ir.dtypes import BOOL, INT8, UINT2, UINT4, UINT8, DType
from tandem.compiler.ir.expr import Cast, Expr, Var
from tandem.compiler.ir.interpreter import run
from tandem.compiler.ir.ops import cast, const
from tandem.compiler.te.build import program_of

SIXTEEN = (0, -128, 127, 5, -1, *range(11))
FOUR = (3, -128, 127, 0)


@pytest.mark.parametrize(
    ("dtype", "table"),
    [
        (BOOL, (-7, 9)),
        (UINT8, (-7, 9)),
        (UINT2, FOUR),
        (UINT8, FOUR),
        (UINT4, SIXTEEN),
        (UINT8, SIXTEEN),
    ],
)
def test_entries(dtype: DType, table: tuple[int, ...]) -> None:
    codes = te.placeholder((len(table),), dtype, "C")
    entries = te.compute(codes.shape, lambda i: entry_of(codes[i], table), "E")
    (found,) = run(program_of([entries]), [np.arange(len(table)).astype(dtype.numpy)])
    assert found.tolist() == [*table]


@pytest.mark.parametrize("table", [FOUR, SIXTEEN])
def test_they_are_found_again(table: tuple[int, ...]) -> None:
    code = Var("c", UINT8)
    found = entry_of(code, table)
    assert isinstance(found, Cast)
    assert table_of(found) == (code, table)


def test_what_is_no_entry() -> None:
    code = Var("c", UINT8)
    others: list[Expr] = [
        cast(code, INT8),
        cast(const(5, UINT8) >> code, INT8),
        cast(const(5, UINT8) >> code * 8, INT8),
        cast(const(5, UINT8) >> cast(Var("d", UINT4), UINT8) * 8, INT8),
    ]
    for other in others:
        assert isinstance(other, Cast)
        assert table_of(other) is None
