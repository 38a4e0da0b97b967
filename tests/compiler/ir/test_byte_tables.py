"""Which loads look up bytes."""

from __future__ import annotations

import pytest

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.byte_tables import looked_up
from tandem.compiler.ir.dtypes import BOOL, INDEX, INT8, INT16, INT32, UINT8, DType
from tandem.compiler.ir.expr import Expr, Load, Var
from tandem.compiler.ir.ops import cast, index, load

BYTES = Buffer("X", (9,), INT8)
BYTE = cast(load(BYTES, Var("i")), UINT8)


@pytest.mark.parametrize("dtype", [INT8, UINT8])
def test_a_byte_of_a_table(dtype: DType) -> None:
    assert looked_up(Load(Buffer("T", (256,), dtype), (cast(BYTE, INDEX),))) == BYTE


@pytest.mark.parametrize(
    ("shape", "dtype", "indices"),
    [
        ((256,), INT16, (cast(BYTE, INDEX),)),
        ((256,), BOOL, (cast(BYTE, INDEX),)),
        ((255,), INT8, (cast(BYTE, INDEX),)),
        ((256,), INT8, (cast(load(BYTES, Var("i")), INDEX),)),
        ((256,), INT8, (cast(cast(BYTE, INT32), INDEX),)),
        ((256,), INT8, (cast(BYTE, INDEX) + 1,)),
        ((256,), INT8, (Var("i"),)),
        ((256, 1), INT8, (cast(BYTE, INDEX), index(0))),
    ],
)
def test_other_loads(shape: tuple[int, ...], dtype: DType, indices: tuple[Expr, ...]) -> None:
    assert looked_up(Load(Buffer("T", shape, dtype), indices)) is None
