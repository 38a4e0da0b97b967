"""How commands speak: results on standard output, one line of error on standard error."""

from __future__ import annotations

import json
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import typer

from compiler.errors import CompilerError
from hw.errors import HardwareError
from runtime.errors import RunError
from scripts.errors import CommandError
from scripts.interrupts import lasting_interrupts
from sim.errors import SimulationError

__all__ = ["FAILED", "INTERRUPTED", "errors_in_one_line", "print_json"]

FAILED = 1
INTERRUPTED = 130
"""128 + SIGINT, as shells report a program that Ctrl-C ended."""


@contextmanager
def errors_in_one_line(debug: bool) -> Iterator[None]:
    """Turn whatever fails inside into one line `error: ...` and an exit code.

    With `debug`, the traceback comes first. Wrong usage is Typer's to report, and a reader that
    closed the pipe is no error of ours.
    """
    try:
        with lasting_interrupts():
            yield
        # Now, while an output that cannot be written is still an error like others.
        if sys.stdout is not None:  # it is None where the caller closed it
            sys.stdout.flush()
    except (typer.Exit, typer.Abort, typer.TyperException, BrokenPipeError):
        raise
    except KeyboardInterrupt:
        _fail("interrupted", INTERRUPTED, debug)
    except (HardwareError, SimulationError, CompilerError, RunError, CommandError) as error:
        _fail(str(error), FAILED, debug)
    except OSError as error:
        _fail(_of_system(error), FAILED, debug)
    except MemoryError as error:
        _fail(f"out of memory: {error}", FAILED, debug)
    except Exception as error:
        hint = "" if debug else " (--debug shows where)"
        _fail(f"internal error: {type(error).__name__}: {error}{hint}", FAILED, debug)


def print_json(result: Mapping[str, object]) -> None:
    """Print the one JSON object of a command."""
    typer.echo(json.dumps(result, indent=2))


def _of_system(error: OSError) -> str:
    reason = error.strerror or str(error)
    return reason if error.filename is None else f"{error.filename}: {reason}"


def _fail(message: str, code: int, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    else:
        # What was half done may complain when it is thrown away (Amaranth's designs do).
        warnings.simplefilter("ignore")
    line = " ".join(message.split())
    print(f"error: {line}", file=sys.stderr)
    raise typer.Exit(code) from None
