"""`docs/moved.md` has the new place of every section and number of the old documents."""

from __future__ import annotations

import pytest

from tests.docs.moved import DOCUMENTS, ROOT, TABLE, missing, numbers, recorded, sections

LIMITS = {"README.md": 8 * 1024, "ARCHITECTURE.md": 15 * 1024}


def test_nothing_is_lost() -> None:
    found = list(missing(recorded(), TABLE.read_text()))
    assert not found, "a figure that is measured anew changes in tests/docs/old_sections.json too"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_documents_stay_short(document: str) -> None:
    assert (ROOT / document).stat().st_size <= LIMITS[document]


def test_sections_and_numbers() -> None:
    found = sections("# One\n\n1,024 of 1,024 in 3.5 s.\n\n```\n# 7\n```\n\n## Two\n")
    assert {heading: numbers(text) for heading, text in found.items()} == {
        "One": ["1,024", "3.5", "7"],
        "Two": [],
    }


def test_what_is_missing() -> None:
    table = (
        "## Headings\n\n"
        "| README.md | Kept | [moved](moved.md) |\n"
        "| README.md | Lost | gone |\n\n"
        "## Numbers that were dropped\n\n"
        "| README.md | Kept | 123,456,789 |\n"
    )
    old = {"README.md": {"Kept": ["123,456,789", "987,654,321"], "Lost": []}}
    assert list(missing(old, table)) == [
        "README.md, 'Kept': no reason why numbers were dropped",
        "README.md, 'Kept': lost 987,654,321",
        "README.md, 'Lost': docs/moved.md names no new place",
    ]
