"""Sentences of this repository's documents."""

from __future__ import annotations

import re
from pathlib import Path

_LEAST, _MOST = 40, 240
"""Characters of a sentence."""


def sentences(folder: Path, count: int) -> list[str]:
    """`count` different sentences of the documents in a folder, evenly from all of them.

    Code, tables, headings and links' targets are left out.
    """
    found: dict[str, None] = {}
    for path in sorted(folder.glob("*.md")):
        text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        lines = [line for line in text.splitlines() if not line.startswith(("#", "|", "!", "<"))]
        paragraphs = re.split(r"\n\s*(?:\n|[-*] |\d+\. )", "\n".join(lines))
        for paragraph in paragraphs:
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph)
            plain = re.sub(r"[`*]", "", " ".join(plain.split()))
            for sentence in re.split(r"(?<=[.?!]) (?=[A-Z])", plain):
                if _LEAST <= len(sentence) <= _MOST and sentence[0].isalpha():
                    found[sentence] = None
    every = [*found]
    if len(every) < count:
        raise ValueError(f"{folder} has {len(every)} sentences, and {count} are wanted")
    return [every[number * len(every) // count] for number in range(count)]
