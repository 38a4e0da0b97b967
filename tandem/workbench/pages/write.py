"""Pages as files, and whether something can be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from tandem.base.files import check_destination, write_atomically
from tandem.workbench.errors import ArgumentValueError, MissingPackageError

_NEEDED = ("altair", "jinja2", "vl_convert")


class PageContent(Protocol):
    """The content of a page. The module `render` beside its class's has a function `render`, which
    makes HTML of it."""

    @property
    def command(self) -> str:
        """The command that the page is of."""


def check_page(path: Path) -> None:
    """Check before a run that its page can be written after it; raises as `check_drawn`."""
    check_drawn(path, "report", (".html",))


def check_installed(what: str) -> None:
    """Raise `MissingPackageError` if a library that draws is not installed."""
    if not all(map(find_spec, _NEEDED)):
        raise MissingPackageError(what, "Altair", "tandem-workbench[report]")


def check_drawn(path: Path, what: str, suffixes: Sequence[str]) -> None:
    """Check before a run that something can be drawn after it.

    Raises
    ------
    ArgumentValueError
        An unsupported suffix.
    MissingPackageError
        A library that draws is not installed (the extra `report`).
    OSError
        The file cannot be written.
    """
    if path.suffix not in suffixes:
        raise ArgumentValueError(f"{path}: a {what} ends in {' or '.join(suffixes)}")
    check_destination(path)
    check_installed(f"a {what}")


def write_page(page: PageContent, path: Path) -> None:
    """Write a page to `path`, atomically.

    Raises
    ------
    ArgumentValueError, MissingPackageError, OSError
        The errors of `check_page`.
    """
    check_page(path)
    # Imported here, because the libraries that draw are large and optional.
    renderer = import_module(".render", type(page).__module__.rpartition(".")[0])
    write_atomically(path, renderer.render(page))
