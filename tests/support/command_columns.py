"""Commands of the accelerator's back end as columns."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from compiler.lower.accelerator.commands import Command, Commands, Site

__all__ = ["columns_of"]


def columns_of(commands: Iterable[Command], site: Site = ("", ())) -> Commands:
    """The commands as columns, all with one site; equal commands are one prototype."""
    prototypes = dict[Command, int]()
    which = [prototypes.setdefault(each, len(prototypes)) for each in commands]
    dram = np.zeros(len(which), dtype=np.int64)
    return Commands(tuple(prototypes), np.array(which, np.int64), dram, (site,) * len(which))
