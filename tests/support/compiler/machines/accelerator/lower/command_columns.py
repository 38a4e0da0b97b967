"""Accelerator commands in columnar form."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tandem.compiler.machines.accelerator.lower.commands import Command, Commands, Site


def columns_of(commands: Iterable[Command], site: Site = ("", ())) -> Commands:
    """The commands in columnar form, all with `site`; equal commands share a prototype."""
    prototypes = dict[Command, int]()
    which = [prototypes.setdefault(each, len(prototypes)) for each in commands]
    dram = np.zeros(len(which), dtype=np.int64)
    return Commands(tuple(prototypes), np.array(which, np.int64), dram, (site,) * len(which))
