"""The command line of this process, as a page says what made it."""

from __future__ import annotations

import shlex
import sys


def command_line() -> str:
    """The command line, as a shell would take it."""
    return shlex.join(("tandem", *sys.argv[1:]))
