"""Where the sections of README.md and ARCHITECTURE.md went: `python -m tests.docs.moved`.

Both were split into the pages of `docs`. `old_sections.json` has the headings that they had, and
the numbers of each section; `docs/moved.md` says for each heading which pages have its text now,
and which numbers were dropped, with the reason. The script prints what is missing. With `--record
COMMIT` it writes the data from the documents of a commit.

A figure that is measured anew changes in its page and in `old_sections.json`.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).with_name("old_sections.json")
TABLE = ROOT / "docs" / "moved.md"
DOCUMENTS = ("README.md", "ARCHITECTURE.md")

_NUMBER = re.compile(r"\d(?:[\d,.]*\d)?")
_LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")


def sections(text: str) -> dict[str, str]:
    """The text below each heading of a document; lines of code are no headings."""
    found: dict[str, list[str]] = {}
    is_code = False
    lines: list[str] = []
    for line in text.splitlines():
        is_code ^= line.startswith("```")
        heading = None if is_code else re.fullmatch(r"#+ (.*)", line)
        if heading:
            lines = found[heading[1]] = []
        else:
            lines.append(line)
    return {heading: "\n".join(below) for heading, below in found.items()}


def numbers(text: str) -> list[str]:
    """The distinct numbers of a text, in the order in which they first occur."""
    return list(dict.fromkeys(_NUMBER.findall(text)))


def rows(text: str) -> Iterator[list[str]]:
    """The cells of the rows of a Markdown document's tables, headers included."""
    for line in text.splitlines():
        if line.startswith("| "):
            yield [cell.strip() for cell in line.strip("| ").split(" | ")]


def missing(old: dict[str, dict[str, list[str]]], table: str) -> Iterator[str]:
    """What the table does not account for, as messages."""
    by_heading = sections(table)
    places = {(row[0], row[1]): row[2] for row in rows(by_heading["Headings"])}
    dropped = {(row[0], row[1]): row[2:] for row in rows(by_heading["Numbers that were dropped"])}
    for document, headings in old.items():
        for heading, wanted in headings.items():
            where = f"{document}, {heading!r}"
            pages = _LINK.findall(places.get((document, heading), ""))
            gone, *reason = dropped.get((document, heading), ["", ""])
            if not pages:
                yield f"{where}: docs/moved.md names no new place"
            if gone and not any(reason):
                yield f"{where}: no reason why numbers were dropped"
            texts = [(TABLE.parent / page).read_text() for page in pages]
            kept = {*numbers("\n".join([*texts, gone]))}
            if lost := [number for number in wanted if number not in kept]:
                yield f"{where}: lost {' '.join(lost)}"


def recorded() -> dict[str, dict[str, list[str]]]:
    """By document and heading, the numbers that the old documents had."""
    found = json.loads(DATA.read_text())
    return {
        document: {heading: line.split() for heading, line in headings.items()}
        for document, headings in found.items()
    }


def record(commit: str) -> None:
    found = {}
    for document in DOCUMENTS:
        command = ["git", "show", f"{commit}:{document}"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found[document] = {
            heading: " ".join(numbers(below)) for heading, below in sections(text).items()
        }
    DATA.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--record", metavar="COMMIT")
    commit = parser.parse_args().record
    if commit:
        record(commit)
    found = list(missing(recorded(), TABLE.read_text()))
    print(*found, sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
