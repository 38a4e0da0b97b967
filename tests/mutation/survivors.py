"""The list of survivors that somebody has judged: `SURVIVORS.md`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

JUDGED = Path(__file__).with_name("SURVIVORS.md")
_COLUMNS = 4


class Worth(Enum):
    """What a survivor is."""

    EQUIVALENT = "equivalent"
    GAP = "gap"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was found out about a mutant by hand, and why it is so."""

    worth: Worth
    reason: str


def read_judgements(text: str) -> Mapping[tuple[str, str], Judgement]:
    """The rows of the tables in `text`, by configuration and the mutant's name.

    Raises
    ------
    ValueError
        A row has not the four columns, has no reason, or is there twice.
    """
    found: dict[tuple[str, str], Judgement] = {}
    for line in text.splitlines():
        if not line.startswith("| `"):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != _COLUMNS or not cells[-1]:
            raise ValueError(f"a row has a configuration, a mutant, its worth and a reason: {line}")
        key = (cells[0].strip("`"), cells[1].strip("`"))
        if key in found:
            raise ValueError(f"this mutant is listed twice: {line}")
        found[key] = Judgement(Worth(cells[2]), cells[3])
    return found
