"""This processor: its cores and what it can execute, found without LLVM where that is possible.

LLVM knows more of a processor (`base.processor`), which who compiles needs; who loads code asks
only whether instruction sets are there.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

_LINUX_NAMES: Final = {
    "64bit": "lm",
    "bmi": "bmi1",
    "crc32": "sse4_2",
    "lzcnt": "abm",
    "pclmul": "pclmulqdq",
    "prfchw": "3dnowprefetch",
    "rdrnd": "rdrand",
    "sahf": "lahf_lm",
    "sha": "sha_ni",
    "sse3": "pni",
}
"""Features of x86-64 by LLVM's names, where Linux has others; they differ in dots, dashes and
underscores beside."""
_NEVER_SELECTED: Final = frozenset(
    {"clzero", "clflushopt", "clwb", "fsgsbase", "invpcid", "rdpid", "rdpru", "rdrnd", "rdseed"}
    | {"shstk", "xsave", "xsavec", "xsaveopt", "xsaves"}
)
"""Features for operating systems and random numbers, which the compiler makes no code of; systems
hide some of them."""


def available_threads() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def this_triple() -> str:
    """LLVM's name of the processor's architecture and system: `x86_64-unknown-linux-gnu`."""
    machine = os.uname().machine
    if machine == "x86_64" and sys.platform == "linux":
        return f"{machine}-unknown-linux-gnu"
    from tandem.base.processor import Host

    return Host.detect().triple


def missing_features(features: Iterable[str]) -> list[str]:
    """The features, by LLVM's names, that this processor lacks, sorted."""
    wanted = set(features)
    if os.uname().machine == "x86_64" and (flags := _linux_flags()):
        names = {name: _LINUX_NAMES.get(name, re.sub(r"[.-]", "_", name)) for name in wanted}
        return sorted(
            name
            for name in wanted - _NEVER_SELECTED
            if names[name] not in flags and names[name].replace("_", "") not in flags
        )
    from tandem.base.processor import Host

    return sorted(wanted - set(Host.detect().features))


@cache
def _linux_flags() -> frozenset[str]:
    """Names of features in /proc/cpuinfo, with underscores and without; none if it is not there."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    found = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    flags = found.group(1).split() if found else []
    return frozenset([*flags, *(flag.replace("_", "") for flag in flags)])
