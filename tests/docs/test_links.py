"""Links of all documents, the files that they name, and goals of make exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("tests/**/*.md")])
NAMES = [str(document.relative_to(ROOT)) for document in DOCUMENTS]

_FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")
_PATH = re.compile(r"`((?:base|hw|sim|runtime|compiler|tandem|scripts|tests|docs)/[\w/.]+)`")


@cache
def prose(document: Path) -> str:
    """A document without its code."""
    return _FENCED.sub("", document.read_text())


@cache
def anchors(document: Path) -> frozenset[str]:
    """The anchors of a document's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.*)$", prose(document), re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings)


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    document = ROOT / name
    for path, anchor in _LINK.findall(prose(document)):
        target = document.parent / path if path else document
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


# The record of changes names files of its time, and those of tests stand for many.
@pytest.mark.parametrize(
    "name", [name for name in NAMES if not name.startswith(("CHANGELOG", "tests"))]
)
def test_paths_lead_somewhere(name: str) -> None:
    for path in _PATH.findall(prose(ROOT / name)):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("name", NAMES)
def test_the_goals_of_make(name: str) -> None:
    goals = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = re.findall(r"(?:^|`)make ([a-z-]+)", (ROOT / name).read_text(), re.MULTILINE)
    assert set(named) <= goals


def test_every_page_can_be_found() -> None:
    """From README.md or ARCHITECTURE.md, over links."""
    reached: set[Path] = set()
    left = [ROOT / "README.md", ROOT / "ARCHITECTURE.md"]
    while left:
        document = left.pop().resolve()
        if document not in reached and document.suffix == ".md":
            reached.add(document)
            links = _LINK.findall(prose(document))
            left += (document.parent / path for path, _ in links if path)
    assert {*map(Path.resolve, ROOT.glob("docs/*.md"))} <= reached
