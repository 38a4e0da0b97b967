"""Compiles the machine code of Yosys: `python -m tests.support.compile_yosys`.

It takes a minute of two cores, and needs nothing but Python and the wheel of Yosys: it runs while
the other packages are installed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tandem.base.cache import default_cache
from tandem.hw.synthesis.yosys import YOSYS


def compile_yosys() -> None:
    """Compile it unless the cache has it; waits for a process that does."""
    with TemporaryDirectory() as folder:
        YOSYS.environment(Path(folder), default_cache())


def main() -> int:
    """Compile it."""
    compile_yosys()
    return 0


if __name__ == "__main__":
    sys.exit(main())
