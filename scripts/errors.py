"""Errors of the commands themselves."""

from __future__ import annotations


class CommandError(Exception):
    """Options, files or libraries that a command cannot work with."""
