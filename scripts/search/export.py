"""`--export`: a folder that machines can be written to."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from tandem.scripts.errors import CommandError
from tandem.workbench.search.export import is_machine_folder


def check_export(folder: Path, inputs: Sequence[Path]) -> None:
    """Refuse a folder that cannot be, or of which the folders of machines have an input.

    Raises
    ------
    OSError
        There is something else at the path.
    CommandError
        An input would be replaced.
    """
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    place = Path(os.path.realpath(folder))
    for path in inputs:
        parents = Path(os.path.realpath(path)).parents
        if place in parents and any(map(is_machine_folder, parents[: parents.index(place)])):
            raise CommandError(f"{folder}: --export would replace the input {path}")
