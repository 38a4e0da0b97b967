"""`--report` and `--plot`: the page and the picture of a search, as files."""

from __future__ import annotations

from pathlib import Path

from tandem.base.files import write_atomically
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.scripts.command_line import command_line
from tandem.scripts.utilization.plot import Plot
from tandem.workbench.pages.search.of_search import search_page
from tandem.workbench.pages.write import write_page
from tandem.workbench.search.options import Options
from tandem.workbench.search.run import Done

PRESETS = ("pynq", "pynq-x", "small8", "small8-x")
"""Presets that a page marks."""


def marked_presets(baseline: HardwareConfig) -> tuple[HardwareConfig, ...]:
    """The presets that a page marks beside the baseline."""
    return tuple(load_config(name) for name in PRESETS if name != baseline.name)


def write_search(
    options: Options, done: Done, memory: str, report: Path | None, plot: Plot | None
) -> None:
    """Write the page and the picture that were asked for.

    Parameters
    ----------
    memory
        The memory model, as the command line names it.
    """
    page = search_page(options, done, memory, command_line())
    if report is not None:
        write_page(page, report)
    if plot is not None:
        # Imported here, because the libraries that draw are large and optional.
        from tandem.workbench.pages.search.figures import front_picture

        write_atomically(plot.path, front_picture(page, plot.path.suffix.removeprefix(".")))
