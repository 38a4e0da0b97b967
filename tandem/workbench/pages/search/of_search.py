"""The page of a search, of what it came to."""

from __future__ import annotations

from importlib.metadata import version

from tandem.workbench.pages.search.page import Marked, SearchPage
from tandem.workbench.search.options import Options
from tandem.workbench.search.run import Done

_TOOLS = ("tandem-workbench", "optuna")


def search_page(options: Options, done: Done, memory: str, command: str) -> SearchPage:
    """The page of a search.

    Parameters
    ----------
    memory
        The name of the memory model.
    command
        What makes the page, as text.
    """
    return SearchPage(
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
        command=command,
        versions=tuple((tool, version(tool)) for tool in _TOOLS),
    )
