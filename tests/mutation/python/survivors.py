"""The list of survivors that somebody has judged: `SURVIVORS.md`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tests.mutation.survivors import Judgement, Worth

JUDGED = Path(__file__).with_name("SURVIVORS.md")
_ROW = re.compile(r"\| `(.+)` \| (\w+) \| (.+) \|")


def read_judgements(text: str) -> Mapping[str, Judgement]:
    """The rows of the table in `text`, by the fault's name.

    Raises
    ------
    ValueError
        A row has not the three columns, has no reason, or is there twice.
    """
    found: dict[str, Judgement] = {}
    for line in text.splitlines():
        if not line.startswith("| `"):
            continue
        row = _ROW.fullmatch(line.strip())
        if row is None:
            raise ValueError(f"a row has a fault, its worth and a reason: {line}")
        name, worth, reason = row.groups()
        if name in found:
            raise ValueError(f"this fault is listed twice: {line}")
        found[name] = Judgement(Worth(worth), reason)
    return found
