"""Inputs and outputs as tables and in a line."""

from __future__ import annotations

from tandem.api.ports import listed, port_table


def test_tables() -> None:
    table = port_table([("x", "float32", (1, 3)), ("s", "int64", ())])
    assert table.rows == (("x", "float32", "[1, 3]"), ("s", "int64", "[]"))
    assert table.names == ("name", "dtype", "shape")


def test_lines_have_four_ports() -> None:
    ports = [(f"x{number}", "int8", (number,)) for number in range(6)]
    four = "x0 int8[0], x1 int8[1], x2 int8[2], x3 int8[3]"
    assert listed(port_table(ports[:1])) == "x0 int8[0]"
    assert listed(port_table(ports[:4])) == four
    assert listed(port_table(ports[:5])) == f"{four}, and 1 more"
    assert listed(port_table(ports)) == f"{four}, and 2 more"
    assert listed(port_table([])) == ""
