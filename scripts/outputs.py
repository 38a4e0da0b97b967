"""Refuses outputs of a command that would replace its inputs, or each other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from tandem.hw.config_files import preset_names
from tandem.scripts.errors import CommandError

ForceOption = Annotated[
    bool,
    typer.Option("--force", help="Write an output even where it replaces an input."),
]


def check_outputs(
    outputs: Mapping[str, Path | None], inputs: Iterable[Path | None], *, force: bool | None = None
) -> None:
    """Refuse outputs that are inputs, under any name: by links, too.

    Parameters
    ----------
    outputs
        The files that the command writes, by their options; None for options not given.
    inputs
        The files that the command reads, and folders of which it reads the files. Iterated over
        only if an output exists already.
    force
        Whether `--force` is given, which allows it; None if the command has no such option.

    Raises
    ------
    CommandError
        An output is an input, or two options write the same file.
    """
    written = {option: path for option, path in outputs.items() if path is not None}
    # A device or a pipe is not replaced.
    replaced = {
        option: path for option, path in written.items() if path.is_file() or not path.exists()
    }
    checked: list[tuple[str, Path]] = []
    for option, path in replaced.items():
        for other, earlier in checked:
            if _same(path, earlier):
                raise CommandError(f"{path}: {other} and {option} write the same file")
        checked.append((option, path))
    existing = {option: path for option, path in replaced.items() if path.exists()}
    if force or not existing:
        return
    for source in _files(inputs):
        for option, path in existing.items():
            if _same(path, source):
                hint = "" if force is None else "; --force allows it"
                raise CommandError(f"{path}: {option} would replace the input {source}{hint}")


def config_input(config: str | None) -> Path | None:
    """The file of a configuration; None for a preset."""
    return None if config is None or config in preset_names() else Path(config)


def _files(inputs: Iterable[Path | None]) -> Iterator[Path]:
    """The files, and those in folders."""
    for path in inputs:
        if path is None:
            continue
        if path.is_dir():
            yield from path.iterdir()
        else:
            yield path


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)
