"""Where the fields of a cell lie: references first, then all others at multiples of eight bytes."""

from __future__ import annotations

import pytest

from tandem.compiler.machines.cpu.network.cells import CellLayout
from tandem.runtime.artifact import Form


@pytest.mark.parametrize(
    ("fields", "places", "size"),
    [
        ((), (), 16),
        ((None,), (16,), 32),
        ((((), "int64"), None), (24, 16), 32),
        ((((3,), "int8"), None, ((2, 2), "float32"), None), (32, 16, 40, 24), 64),
        ((((0,), "float32"), ((), "bool")), (16, 16), 32),
        ((((), "int4"), ((), "bfloat16")), (16, 24), 32),
    ],
)
def test_cells(
    fields: tuple[tuple[tuple[int, ...], str] | None, ...], places: tuple[int, ...], size: int
) -> None:
    layout = CellLayout.of(Form("A of B", fields))
    found = [layout.place(at, reference=it is None) for at, it in enumerate(fields)]
    assert tuple(found) == places
    assert layout.bytes == size
    assert layout.references == fields.count(None)
