"""The `tandem` command: the table of its subcommands, and the entry point."""

from __future__ import annotations

import gc
import os
import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from tandem.scripts.lazy import Verb, make_group
from tandem.scripts.signals import terminable

_NETWORKS, _MACHINES, _SEARCHES = "Networks", "Machines", "Measuring and searching"
_INSTALLATION = "Installation"
"""Headings of the list of verbs."""

VERBS = {
    "run": Verb("tandem.scripts.run.command", "Run a network end to end.", _NETWORKS),
    "compile": Verb("tandem.scripts.compile", "Compile a model to an artifact.", _NETWORKS),
    "generate": Verb("tandem.scripts.generate", "Make text with a language model.", _NETWORKS),
    "export": Verb("tandem.scripts.export", "Write a network as a C library.", _NETWORKS),
    "train": Verb("tandem.scripts.train", "Train a model on this processor.", _NETWORKS),
    "rtl": Verb("tandem.scripts.rtl", "Regenerate the Verilog of a configuration.", _MACHINES),
    "soc": Verb("tandem.scripts.soc", "Make a system on chip that runs a network.", _MACHINES),
    "sim": Verb("tandem.scripts.sim", "Run a raw program on a raw memory image.", _MACHINES),
    "disasm": Verb("tandem.scripts.disasm", "Print a raw program as text.", _MACHINES),
    "utilization": Verb(
        "tandem.scripts.utilization.command",
        "Measure convolutions with and without latency hiding.",
        _SEARCHES,
    ),
    "tune": Verb(
        "tandem.scripts.tune.command", "Find schedules for the layers of a network.", _SEARCHES
    ),
    "search": Verb("tandem.scripts.search.command", "Find machines for networks.", _SEARCHES),
    "discover": Verb(
        "tandem.scripts.discover.command", "Find operations of the ALU for networks.", _SEARCHES
    ),
    "devices": Verb("tandem.scripts.devices", "List what networks can run on here.", _INSTALLATION),
    "doctor": Verb(
        "tandem.scripts.doctor",
        "Say what is installed, what is missing and what to do.",
        _INSTALLATION,
    ),
}

COLLECTIONS = (50_000, 20, 100)
"""Thresholds of Python's garbage collector: new objects, and collections of each generation."""

app = typer.Typer(
    name="tandem",
    cls=make_group(VERBS),
    no_args_is_help=True,
    # In help, [bold]words[/bold] are set so, and lines end where they end here.
    rich_markup_mode="rich",
    # Unforeseen errors are reported by `scripts.console`, in one line.
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        # Here, because this import takes longer than all of `tandem --help` but Typer.
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
    """Tandem: a tensor accelerator, its simulators, its compiler and its runtime.

    First steps:

    \b
      [bold]tandem doctor[/bold]                            what is installed, what is missing
      [bold]tandem run digits --config pynq-x[/bold]        a network, cycles of each layer
      [bold]tandem run MODEL.onnx --config pynq-x[/bold]    a model of yours
      [bold]tandem rtl --config small8 -o DIR[/bold]        the Verilog of a machine

    VERB --help says the rest; from Python: import tandem.
    """


def main() -> None:
    """Entry point.

    Exit code 0: done, 1: failed, 2: wrong usage, 130: interrupted, 143: terminated by
    SIGTERM, 129: the terminal has gone.
    """
    # Trees of frozen values are freed by their reference counts; searching them for cycles every
    # 700 new objects, Python's default, is a tenth of the time of a compilation.
    gc.set_threshold(*COLLECTIONS)
    # Names in models may have characters that a terminal's encoding lacks.
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with terminable():
            app()
    except OSError as error:
        # An error of `--help` or `--version`; commands report their errors themselves.
        sys.exit(f"error: standard output: {error.strerror}")
    finally:
        _flush_or_drop_output()


def _flush_or_drop_output() -> None:
    """Flush standard output, or drop it if that fails: Python's flush at exit would report the
    error again.
    """
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
