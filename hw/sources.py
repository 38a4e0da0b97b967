"""The source of the package `hw`: what is made from it is kept as long as it stays the same."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from base.cache import content_key


@cache
def source_digest() -> str:
    """A digest of all Python files of `hw`: of what makes Verilog and has it synthesised."""
    return content_key(*(part for file in _sources(files("hw"), "") for part in file))


def _sources(folder: Traversable, path: str) -> Iterator[tuple[str, str]]:
    for entry in sorted(folder.iterdir(), key=lambda item: item.name):
        if entry.is_dir():
            yield from _sources(entry, f"{path}{entry.name}/")
        elif entry.name.endswith(".py"):
            yield path + entry.name, entry.read_text()
