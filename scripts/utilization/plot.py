"""`--plot`: the bar chart of utilisation as an image file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from hw.files import check_destination, write_atomically
from scripts.errors import CommandError
from scripts.utilization.rows import Row
from sim.engine import Engine

FORMATS = (".svg", ".png")
_NEEDED = ("altair", "vl_convert")


@dataclass(frozen=True, slots=True)
class Plot:
    """Path of the image file; its suffix is the format."""

    path: Path

    def check(self) -> None:
        """Check before the measurements that the image can be drawn afterwards.

        Raises
        ------
        CommandError
            An unsupported suffix, or a drawing library that is not installed.
        OSError
            The file cannot be written.
        """
        if self.path.suffix not in FORMATS:
            raise CommandError(f"{self.path}: a plot ends in {' or '.join(FORMATS)}")
        check_destination(self.path)
        if not all(map(find_spec, _NEEDED)):
            raise CommandError(
                "a plot needs Altair, which is not installed: "
                "pip install 'tandem-workbench[report]'"
            )

    def check_engine(self, engine: Engine) -> None:
        """Raise `CommandError` for an engine that counts no cycles and so has no utilisation."""
        if not engine.has_time:
            raise CommandError(f"a plot needs cycles: the {engine.name} engine has no time")

    def write(self, rows: Sequence[Row]) -> None:
        """Draw the rows and their total, and write the image."""
        # Imported here, because Altair is large and optional.
        from scripts.utilization.bars import draw

        write_atomically(self.path, draw(rows, self.path.suffix.removeprefix(".")))
