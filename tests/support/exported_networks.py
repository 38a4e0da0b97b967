"""Exports small networks of many kinds from PyTorch as ONNX files.

    python -m tests.support.exported_networks FOLDER [--only NAME]...

They are built as the well-known networks are, but narrow, with random weights, so that each
compiles and runs in seconds. `tests.support.digests --models FOLDER` takes the folder. PyTorch is
needed, and ONNX Runtime, whose quantiser makes quantised versions of some; neither this module nor
those of `tests.support.exported` need more of the project. Other versions of both may write other
files: compare digests of the same folder.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def export_all(folder: Path, only: Sequence[str] = ()) -> None:
    """Write `NAME.onnx` into the folder for each network; with `only` for these alone."""
    # Imported here, because PyTorch is not installed with the project.
    from tests.support.exported.catalogue import networks
    from tests.support.exported.export import exported, save
    from tests.support.exported.quantised import QUANTISED

    folder.mkdir(parents=True, exist_ok=True)
    for seed, (name, network) in enumerate(networks().items()):
        variants = QUANTISED.get(name, {})
        wanted = [name, *variants]
        if only and not {*only} & {*wanted}:
            continue
        path = folder / f"{name}.onnx"
        save(exported(network, seed), path)
        for variant, quantise in variants.items():
            save(quantise(path, network, seed), folder / f"{variant}.onnx")
        print(*wanted, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Export the networks; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.exported_networks")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", metavar="NAME", action="append", default=[])
    asked = parser.parse_args(arguments)
    export_all(asked.folder, asked.only)
    return 0


if __name__ == "__main__":
    sys.exit(main())
