"""What can be refused before a network is compiled, and before it is run: both take minutes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runtime.artifact import is_artifact
from scripts.errors import CommandError
from scripts.run.machine import Network

__all__ = ["check_files", "check_for_artifact", "check_offloaded"]


def check_files(paths: Sequence[Path | None]) -> None:
    """Raise `OSError` for the first that is not there."""
    for each in paths:
        if each is not None:
            each.stat()


def check_for_artifact(model: str, options: Sequence[str]) -> None:
    """Refuse compile options that were given for what is compiled already."""
    if options and is_artifact(Path(model)):
        raise CommandError(f"{options[0]} is for models: {model} is an artifact, compiled already")


def check_offloaded(network: Network, options: Sequence[str]) -> None:
    """Refuse options that tell of the accelerator where it has nothing to do."""
    if options and network.artifact.config is None:
        raise CommandError(f"{options[0]}: nothing of {network.model} is on an accelerator")
