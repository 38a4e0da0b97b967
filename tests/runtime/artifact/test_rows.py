"""Places of rows as values and as bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tandem.runtime.artifact import RowsCode
from tandem.runtime.errors import ArtifactError

CODE = RowsCode("keys", (2, 3, 4, 2), (4, 0, 1, 0), (0, 2, 0, 1), 7, 1, 6)
"""Eight rows in blocks of four, of three heads of two features."""


def test_bytes_and_back() -> None:
    assert RowsCode.from_bytes(CODE.to_bytes()) == CODE
    assert CODE.rows == 8
    assert [(each.name, each.shape) for each in CODE.reads] == [
        ("data", (2, 3, 4, 2)),
        ("rows", (1, 6)),
    ]
    assert [each.shape for each in CODE.writes] == [(2, 3, 4, 2)]


@given(st.integers(0, len(CODE.to_bytes()) - 1))
def test_cut_off(end: int) -> None:
    with pytest.raises(ArtifactError):
        RowsCode.from_bytes(CODE.to_bytes()[:end])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"shape": (2, 3, 4)}, "with steps for other axes"),
        ({"shape": (2, -3, 4, 2)}, "with steps for other axes"),
        ({"row_steps": (4, 1, 1, 0)}, "steps of"),
        ({"row_steps": (-4, 0, 1, 0)}, "steps of"),
        ({"row_steps": (3, 0, 1, 0)}, "rows 3 apart behind 4 rows"),
        ({"row_steps": (4, 0, 2, 0)}, "rows 2 apart behind 1 rows"),
        ({"element_steps": (0, 3, 0, 1)}, "element 7 of rows of 6"),
        ({"elements": 5}, "element 5 of rows of 5"),
        ({"first": 8}, "rows 8 to 9 of 8"),
        ({"first": -1}, "rows -1 to 0 of 8"),
        ({"count": 2}, "rows 7 to 9 of 8"),
    ],
)
def test_refusals(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ArtifactError, match=f"places of rows keys: .*{message}"):
        structs.replace(CODE, **changed)
    damaged = CODE.to_bytes().replace(b'"first":7', b'"first":8')
    with pytest.raises(ArtifactError):
        RowsCode.from_bytes(damaged)
