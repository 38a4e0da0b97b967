"""What a search for machines came to."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tandem.api.accelerator import Accelerator
from tandem.api.front_chart import front_chart
from tandem.workbench.arguments import file_path
from tandem.workbench.pages.search.page import SearchPage
from tandem.workbench.pages.write import write_page
from tandem.workbench.table import Table
from tandem.workbench.table_text import html_text

if TYPE_CHECKING:
    import altair


@dataclass(frozen=True, slots=True, repr=False)
class Search:
    """What a search came to.

    Attributes
    ----------
    points
        A row for each machine: the fields that the space varies, and what the machine costs.
    machines
        The machines, in the order of the rows.
    baseline
        The machine that the others are compared with, as a table of one row.
    objectives
        The columns that were to be small.
    seconds
        Wall-clock time in s.
    exported
        The folders that were written, one for each machine of the front.
    beside
        The machines that were measured beside those of the search.
    explanation
        A row for each step from `center`, one field up or down: what it costs and brings; None
        unless it was asked for.
    center
        The machine that `explanation` is about.
    page
        What the page of `report` shows.
    """

    points: Table
    machines: tuple[Accelerator, ...]
    baseline: Table
    objectives: tuple[str, ...]
    seconds: float
    exported: tuple[Path, ...]
    beside: Table
    explanation: Table | None
    center: Accelerator | None
    page: SearchPage

    @property
    def front(self) -> Table:
        """The machines that no other beats, best first by the first objective."""
        return Table(self.points.columns, tuple(self.points.rows[at] for at in self._order))

    @property
    def front_machines(self) -> tuple[Accelerator, ...]:
        """The machines of the front, in the order of its rows."""
        return tuple(self.machines[at] for at in self._order)

    def plot(self) -> altair.Chart:
        """A chart (of Altair) of all machines by the first two objectives, the front marked.

        Raises
        ------
        MissingPackageError
            Altair is not installed.
        ArgumentValueError
            The search had one objective.
        """
        return front_chart(self.points, self.baseline, self.beside, self.objectives)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a page (.html) with charts of the machines, which opens offline.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, OSError
            The path has another suffix, or cannot be written.
        MissingPackageError
            A library that draws is not installed (the extra `report`).
        """
        file = file_path("path", path)
        write_page(replace(self.page, command=f"search.report({str(file)!r})"), file)

    @property
    def _order(self) -> list[int]:
        front, first = self.points["front"], self.points[self.objectives[0]]
        return sorted((at for at in range(len(self.points)) if front[at]), key=lambda at: first[at])

    def __repr__(self) -> str:
        shown = self.front.select("machine", *self.objectives)
        return (
            f"{shown}\n{len(self.points):,} machines, {len(self._order)} on the front, in "
            f"{self.seconds:.0f} s"
        )

    def _repr_html_(self) -> str:
        """The front in a notebook, and how it was found below."""
        shown = self.front.select("machine", *self.objectives)
        return shown._repr_html_() + html_text(repr(self).splitlines()[-1])
