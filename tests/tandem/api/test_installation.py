"""`tandem.doctor`: a row for each check."""

from __future__ import annotations

import tandem


def test_a_row_for_each_check() -> None:
    told: list[str] = []
    table = tandem.doctor(progress=lambda done, total, text: told.append(text))
    assert table.names == ("name", "ok", "required", "detail", "remedy")
    assert {"Python", "packages", "C++ compiler", "cache", "simulators"} <= {*table["name"]}
    assert all(row["ok"] for row in table if row["required"])
    assert told[-1] == "the simulators"
