"""Writes a page to a file."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from hw.files import check_destination, write_atomically
from scripts.errors import CommandError

_SUFFIX = ".html"
_NEEDED = ("altair", "jinja2", "vl_convert")


def check_page(path: Path) -> None:
    """Check before a run that its page can be written after it.

    Raises
    ------
    CommandError
        The suffix is not `.html`, or a drawing library is not installed.
    OSError
        The file cannot be written.
    """
    if path.suffix != _SUFFIX:
        raise CommandError(f"{path}: a report ends in {_SUFFIX}")
    check_destination(path)
    if not all(map(find_spec, _NEEDED)):
        raise CommandError(
            "a report needs Altair, which is not installed: pip install 'tandem-workbench[report]'"
        )


def write_page(path: Path, render: Callable[[], str]) -> None:
    """Write the page that `render` returns to `path`, atomically.

    Raises
    ------
    CommandError, OSError
        The errors of `check_page`.
    """
    check_page(path)
    write_atomically(path, render())
