"""The content of the page of a search for operations, as values."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version

from tandem.workbench.discovery.found import Found

_TOOLS = ("tandem-workbench", "z3-solver")


@dataclass(frozen=True, slots=True)
class DiscoveryPage:
    """The content of the page of a search for operations.

    Attributes
    ----------
    memory
        The name of the memory model.
    command
        What made the page.
    """

    found: Found
    memory: str
    command: str

    @property
    def versions(self) -> tuple[tuple[str, str], ...]:
        """Names and versions of the tools."""
        return tuple((tool, version(tool)) for tool in _TOOLS)

    @property
    def reasons(self) -> tuple[tuple[str, int], ...]:
        """Why runs of passes became no candidate, and how many did not for each reason."""
        counts: dict[str, int] = {}
        for one in self.found.dropped:
            counts[one.reason] = counts.get(one.reason, 0) + 1
        return tuple(sorted(counts.items(), key=lambda pair: -pair[1]))
