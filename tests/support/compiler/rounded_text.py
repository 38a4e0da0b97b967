"""Text of programs without what depends on the last bits of the host's real numbers."""

from __future__ import annotations

import re

_REAL = re.compile(r"-?\d+\.\d+(e[-+]\d+)?|-?\d+e[-+]\d+")
_CONSTANT = re.compile(r"\bh[0-9a-f]{32}\b")


def rounded_text(said: str, long: int = 5) -> str:
    """The text with two digits of real numbers and of integers of `long` digits or more, and
    without the digests of constants."""
    said = _CONSTANT.sub("H", said)
    said = _REAL.sub(lambda found: f"{float(found[0]):.2g}", said)
    return re.sub(rf"-?\d{{{long},}}", lambda found: f"{float(found[0]):.2g}", said)
