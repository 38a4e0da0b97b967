"""The `tandem` command: its verbs and nothing else."""

from __future__ import annotations

import gc
import os
import sys
from typing import Annotated

import typer

from scripts.lazy import Verb, make_group

__all__ = ["VERBS", "app", "main"]

VERBS = {
    "rtl": Verb("scripts.rtl", "Regenerate the Verilog of a configuration."),
    "sim": Verb("scripts.sim", "Run a raw program on a raw memory image."),
    "disasm": Verb("scripts.disasm", "Print a raw program as text."),
    "compile": Verb("scripts.compile", "Compile a model to an artifact."),
    "run": Verb("scripts.run.command", "Run a network end to end."),
    "utilization": Verb(
        "scripts.utilization.command", "Measure convolutions with and without latency hiding."
    ),
}

_COLLECTIONS = (50_000, 20, 100)
"""New values, and collections of each generation, after which Python looks for cycles."""

app = typer.Typer(
    name="tandem",
    cls=make_group(VERBS),
    no_args_is_help=True,
    # Completion scripts would be two more options on every page of help.
    add_completion=False,
    # Errors that we did not foresee are reported by `scripts.console`, in one line.
    pretty_exceptions_enable=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        # Here, because it takes longer to import than all of `tandem --help` but Typer.
        from importlib.metadata import version

        typer.echo(f"tandem {version('tandem-workbench')}")
        raise typer.Exit


@app.callback()
def tandem(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version."
        ),
    ] = False,
) -> None:
    """Tandem: a tensor accelerator, its simulators, its compiler and its runtime."""


def main() -> None:
    """Entry point. Exit 0: done, 1: it failed, 2: wrong usage, 130: interrupted."""
    # Trees of frozen values are freed by their reference counts; that Python looks for cycles
    # among them every 700 values is a tenth of a compilation.
    gc.set_threshold(*_COLLECTIONS)
    try:
        app()
    except OSError as error:
        # Verbs report their own; `--help` and `--version` print too.
        sys.exit(f"error: standard output: {error.strerror}")
    finally:
        _drop_what_cannot_be_printed()


def _drop_what_cannot_be_printed() -> None:
    """Leave nothing for Python to print at its end, where an error would be a second report."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
