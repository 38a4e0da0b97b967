"""`--report` and `--plot`: the page and the picture of a search, as files."""

from __future__ import annotations

import shlex
import sys
from importlib.metadata import version
from pathlib import Path

from tandem.base.files import write_atomically
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.scripts.page.write import write_page
from tandem.scripts.search.page.page import Marked, SearchPage
from tandem.scripts.utilization.plot import Plot
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
    page = SearchPage(
        models=tuple(network.model for network in options.networks),
        space=options.space.name,
        explorer=options.explorer.value,
        memory=memory,
        memory_model=options.memory,
        objectives=options.objectives,
        points=done.points,
        marked=tuple(Marked(point.config.name, point) for point in (done.baseline, *done.beside)),
        streams=done.streams,
        seconds=done.seconds,
        command=shlex.join(("tandem", *sys.argv[1:])),
        versions=tuple((tool, version(tool)) for tool in ("tandem-workbench", "optuna")),
    )

    # Imported here, because the libraries that draw are large and optional.
    from tandem.scripts.search.page.figures import front_picture
    from tandem.scripts.search.page.render import render

    if report is not None:
        write_page(report, lambda: render(page))
    if plot is not None:
        write_atomically(plot.path, front_picture(page, plot.path.suffix.removeprefix(".")))
