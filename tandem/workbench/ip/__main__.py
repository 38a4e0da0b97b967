"""`python -m tandem.workbench.ip` prints the folder of FuseSoC's generator, for --cores-root."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def generator_folder() -> Path:
    """The folder with the core file of the generator."""
    return Path(str(files("tandem.workbench.ip").joinpath("fusesoc")))


if __name__ == "__main__":
    print(generator_folder())
