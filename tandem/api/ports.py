"""Inputs and outputs of networks as tables."""

from __future__ import annotations

from collections.abc import Iterable

from tandem.workbench.table import Column, Table

_PORTS = (
    Column("name", str, "the model's name of the input or output"),
    Column("dtype", str, "the type of its elements, as NumPy names it"),
    Column("shape", str, "its extents"),
)
_SHOWN = 4


def port_table(ports: Iterable[tuple[str, str, Iterable[object]]]) -> Table:
    """A row for each name, element type and shape."""
    return Table(
        _PORTS,
        tuple((name, dtype, f"[{', '.join(map(str, shape))}]") for name, dtype, shape in ports),
    )


def listed(ports: Table) -> str:
    """The first ports in a line."""
    shown = [f"{row['name']} {row['dtype']}{row['shape']}" for row in ports[:_SHOWN]]
    more = f", and {len(ports) - _SHOWN} more" if len(ports) > _SHOWN else ""
    return ", ".join(shown) + more
