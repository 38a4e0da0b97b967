"""`--budget`: a number of machines, or a time."""

from __future__ import annotations

import re

import typer

from tandem.workbench.search.options import Budget

_UNITS = {"s": 1, "m": 60, "h": 3600}


def parse_budget(text: str) -> Budget:
    """A number of machines, such as `500`, or a time, such as `90s`, `30m`, `2h`.

    Raises
    ------
    typer.BadParameter
        Anything else.
    """
    found = re.fullmatch(r"([0-9]{1,9})([smh]?)", text, re.ASCII)
    if found is None or int(found[1]) == 0:
        raise typer.BadParameter(f"{text!r} is neither a number of machines nor a time: 500, 30m")
    if not found[2]:
        return Budget(int(found[1]), None)
    return Budget(None, float(int(found[1]) * _UNITS[found[2]]))
