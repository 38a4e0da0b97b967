"""The words of `docs/glossary.md` are those of the code."""

from __future__ import annotations

from pathlib import Path

from tests.docs.plain_words import findings, tracked


def test_nothing_is_called_otherwise() -> None:
    assert not list(findings(tracked([])))


def test_what_is_found(tmp_path: Path) -> None:
    file = tmp_path / "loops.py"
    file.write_text(
        '"""The last turn of a loop, in turn."""\n'
        "names = [each for each in range(3)]\n"
        "for each in range(3):\n"
        "    names = [\n"
        "        each\n"
        "        for each in range(3)\n"
        "    ]\n"
    )
    found = [line.removeprefix(f"{file}:") for line in findings([file])]
    assert found == [
        "1: turn is called iteration",
        "3: `each` is the name of something",
        "6: `each` is the name of something",
    ]
