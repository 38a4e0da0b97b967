"""Errors of the commands themselves."""

from __future__ import annotations

from tandem.base.errors import Error


class CommandError(Error):
    """Options, files or libraries that a command cannot work with."""
