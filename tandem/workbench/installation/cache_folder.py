"""The folder in which machine code, simulators and results of synthesis are kept."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from tandem.base.cache import default_cache
from tandem.workbench.installation.check import Check

LEAST_BYTES = 1 << 30
"""Bytes that should be free: simulators, and the machine code of Yosys and nextpnr."""
_REMEDY = "name another folder in the environment's TANDEM_CACHE"


def cache_check() -> Check:
    """The cache: where it is, whether it can be written, its size and the space that is left."""
    root = default_cache()
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root) as file:
            file.write(b"x")
            file.flush()
        free = shutil.disk_usage(root).free
    except OSError as error:
        reason = error.strerror or str(error)
        return Check("cache", False, False, f"{root} cannot be written: {reason}", _REMEDY)
    detail = f"{root}, {_size(_bytes(root))} kept, {_size(free)} free"
    ok = free >= LEAST_BYTES
    remedy = "" if ok else f"make space ({_size(LEAST_BYTES)} is enough), or {_REMEDY}"
    return Check("cache", ok, False, detail, remedy)


def _bytes(root: Path) -> int:
    """Bytes of all files under a folder; files that others remove meanwhile count nothing."""
    total = 0
    for folder, _, names in os.walk(root):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                continue
    return total


def _size(count: int) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.0f} MB"
