"""The site of the documents: its navigation, its page of commands, and that it can be built."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from docs.site.command_page import command_page
from docs.site.labs_archive import write_labs
from docs.site.navigation import PARTS, SOURCES
from tandem.scripts.cli import VERBS
from tests.support.scripts.browser import find_chromium, show

ROOT = Path(__file__).parents[2]
CHROMIUM = find_chromium()


def test_every_document_is_in_the_navigation_once() -> None:
    documents = {path for pattern in SOURCES for path in ROOT.glob(pattern)}
    names = sorted(str(path.relative_to(ROOT).with_suffix("")) for path in documents)
    assert sorted(["README", *(page for pages in PARTS.values() for page in pages)]) == names


@pytest.mark.exhaustive  # It imports every verb.
def test_the_page_of_commands() -> None:
    found = command_page()
    assert re.findall("^## tandem (.*)$", found, re.MULTILINE) == [*VERBS]
    sections = found.split("\n## ")[1:]
    assert all("| `` --json `` |" in section for section in sections if "disasm" not in section)


def test_the_labs_in_one_file(tmp_path: Path) -> None:
    """The notebooks and nothing else, above all no solutions, and the same filled in; the same
    bytes each time."""
    labs = ROOT / "docs" / "labs"
    names = [f"labs/lab{number}.ipynb" for number in range(1, 7)]
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        write_labs(labs, tmp_path / folder)
    for name in ("labs.zip", "labs-solved.zip"):
        first, second = (tmp_path / folder / name for folder in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()
        with ZipFile(first) as archive:
            assert archive.namelist() == names
            texts = [archive.read(each).decode() for each in names]
        unsolved = [path.read_text() for path in sorted(labs.glob("*.ipynb"))]
        assert (texts == unsolved) is (name == "labs.zip")
        assert any("raise NotImplementedError(" in text for text in texts) is (name == "labs.zip")


WIDTHS = """<script>
addEventListener("load", () => {
  const page = document.documentElement;
  page.dataset.over = page.scrollWidth - page.clientWidth;
});
</script></body>"""


@pytest.mark.exhaustive
def test_it_builds_without_warnings(tmp_path: Path) -> None:
    """As `make docs` does; and no page is wider than its window."""
    site = tmp_path / "site"
    options = ["-q", "-W", "--keep-going", "-b", "html", "-c", "docs/site"]
    command = [
        sys.executable,
        "-m",
        "sphinx",
        *options,
        "-d",
        str(tmp_path / "trees"),
        ".",
        str(site),
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    assert (site / "index.html").read_text() == (site / "README.html").read_text()
    for name in ("labs.zip", "labs-solved.zip"):
        assert (site / "docs" / "labs" / name).exists()
        assert f'href="{name}"' in (site / "docs" / "labs" / "README.html").read_text()
    if CHROMIUM is not None:
        for name in ("docs/resources.html", "docs/site/api.html"):
            page = site / name
            page.write_text(page.read_text().replace("</body>", WIDTHS))
            for width in (500, 1300):
                found = show(CHROMIUM, page, tmp_path / "profile", width)
                assert 'data-over="0"' in found.document, (name, width)
