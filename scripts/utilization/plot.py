"""`--plot`: a chart of utilisation as an image file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tandem.base.files import write_atomically
from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import MemoryModel
from tandem.scripts.errors import CommandError
from tandem.sim.engine import Engine
from tandem.workbench.pages.write import check_drawn
from tandem.workbench.utilization.rows import Row
from tandem.workbench.utilization.sweep import SweptPoints
from tandem.workbench.utilization.sweep_axes import MOST_DRAWN, Axis

FORMATS = (".svg", ".png")


@dataclass(frozen=True, slots=True)
class Plot:
    """Path of the image file; its suffix is the format."""

    path: Path

    def check(self) -> None:
        """Check before the measurements that the image can be drawn; raises as `check_drawn`."""
        check_drawn(self.path, "plot", FORMATS)

    def check_axes(self, axes: Sequence[Axis]) -> None:
        """Raise `CommandError` for more fields than a chart of a sweep shows."""
        if len(axes) > MOST_DRAWN:
            raise CommandError(
                f"a plot shows a sweep over at most {MOST_DRAWN} fields: this has {len(axes)}"
            )

    def check_engine(self, engine: Engine) -> None:
        """Raise `CommandError` for an engine that counts no cycles and so has no utilisation."""
        if not engine.has_time:
            raise CommandError(f"a plot needs cycles: the {engine.name} engine has no time")

    # Below, charts are imported where they are drawn, because Altair is large and optional.

    def write(self, rows: Sequence[Row], config: HardwareConfig, memory: MemoryModel) -> None:
        """Draw the rows and their total as bars, and write the image."""
        from tandem.workbench.pages.utilization.bars import draw

        write_atomically(self.path, draw(rows, config, memory, self._kind))

    def write_sweep(self, swept: SweptPoints) -> None:
        """Draw the totals of a sweep as lines, and write the image."""
        from tandem.workbench.pages.utilization.sweep_chart import draw

        write_atomically(self.path, draw(swept, self._kind))

    def write_roofline(
        self, rows: Sequence[Row], config: HardwareConfig, memory: MemoryModel
    ) -> None:
        """Draw the rows below the roofline of a machine and its memory, and write the image."""
        from tandem.workbench.pages.utilization.roofline_chart import draw

        write_atomically(self.path, draw(rows, config, memory, self._kind))

    @property
    def _kind(self) -> str:
        return self.path.suffix.removeprefix(".")
