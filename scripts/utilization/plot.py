"""`--plot`: the utilisation of the rows as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from hw.files import check_destination, write_atomically
from scripts.errors import CommandError
from scripts.utilization.rows import Row
from sim.engine import Engine

__all__ = ["FORMATS", "Plot"]

FORMATS = (".svg", ".png")
_NEEDED = ("altair", "vl_convert")


@dataclass(frozen=True, slots=True)
class Plot:
    """The file of a picture, whose format is its suffix."""

    path: Path

    def check(self) -> None:
        """Check before the measurements that the picture can be drawn after them.

        Raises
        ------
        CommandError
            Another kind of file, or a library for drawing is not installed.
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
        """Raise `CommandError` for an engine without time, which has no utilisation."""
        if not engine.has_time:
            raise CommandError(f"a plot needs cycles: the {engine.name} engine has no time")

    def write(self, rows: Sequence[Row]) -> None:
        """Draw the rows and their total."""
        # Here, because Altair is large and optional.
        from scripts.utilization.bars import draw

        write_atomically(self.path, draw(rows, self.path.suffix.removeprefix(".")))
