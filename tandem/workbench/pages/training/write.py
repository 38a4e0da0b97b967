"""Writes a training's page to a file."""

from __future__ import annotations

from pathlib import Path

from tandem.workbench.pages.training.page import TrainingPage
from tandem.workbench.pages.write import write_page as write


def write_page(page: TrainingPage, path: Path) -> None:
    """Write the page to `path`, atomically.

    Raises
    ------
    ArgumentValueError, MissingPackageError, OSError
        The errors of `check_page`.
    """

    def rendered() -> str:
        # Imported here, because the libraries that draw are large and optional.
        from tandem.workbench.pages.training.render import render

        return render(page)

    write(path, rendered)
