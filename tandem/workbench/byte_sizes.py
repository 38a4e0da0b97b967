"""Numbers of bytes as texts: `64MB`."""

from __future__ import annotations

import re
from typing import Final

_UNITS: Final = {
    "": 1,
    "B": 1,
    **{f"{letter}B": 1000**power for power, letter in enumerate("kMG", 1)},
    **{f"{letter}iB": 1024**power for power, letter in enumerate("KMG", 1)},
}
FORMS: Final = "a number of bytes, as 64MB, 1.5GB or 512KiB"


def bytes_of(text: str) -> int | None:
    """The bytes that a text says; None if it says none, or less than one.

    Units are B, kB, MB and GB, of 1,000; KiB, MiB and GiB, of 1,024; none for bytes.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([A-Za-z]*)", text.strip(), re.ASCII)
    units = {name.lower(): size for name, size in _UNITS.items()}
    if found is None or found[2].lower() not in units:
        return None
    return int(float(found[1]) * units[found[2].lower()]) or None


def shown_bytes(count: int) -> str:
    """A number of bytes, in three digits: `64.2 MB`."""
    for unit in ("GB", "MB", "kB"):
        if count >= _UNITS[unit]:
            return f"{count / _UNITS[unit]:.3g} {unit}"
    return f"{count} B"
