"""Writes a run's page to a file."""

from __future__ import annotations

from pathlib import Path

from tandem.scripts.page.write import write_page as write
from tandem.scripts.run.page.page import Page


def write_page(page: Page, path: Path) -> None:
    """Write the page to `path`, atomically.

    Raises
    ------
    CommandError, OSError
        The errors of `check_page`.
    """

    def rendered() -> str:
        # Imported here, because the libraries that draw are large and optional.
        from tandem.scripts.run.page.render import render

        return render(page)

    write(path, rendered)
