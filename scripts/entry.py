"""The entry point of the command, which says what is missing where packages are."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command; exit code 1 if a package of the command line is not installed."""
    try:
        from tandem.scripts.cli import main as run
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "tandem"):
            raise
        sys.exit(
            f"error: the command needs {package}, which is not installed: "
            "pip install 'tandem-workbench'; tandem.Session runs artifacts without"
        )
    run()
