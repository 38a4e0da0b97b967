"""What became of the faults."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tests.mutation.python.faults import Fault, Kind
from tests.mutation.python.trial import Ending, Outcome
from tests.mutation.survivors import Judgement, Worth


def describe(fault: Fault, outcome: Outcome) -> str:
    """One line: the fault, and what became of it."""
    ending = f"{outcome.ending.value} {outcome.test}".rstrip()
    return f"{fault.path}:{fault.line} {fault.name}: {ending} ({outcome.seconds:.0f} s)"


@dataclass(frozen=True, slots=True)
class Report:
    """Faults, the outcomes of those that were tried, and what is known of survivors by hand."""

    faults: tuple[Fault, ...]
    outcomes: Mapping[str, Outcome]
    judgements: Mapping[str, Judgement]

    @property
    def tried(self) -> tuple[Fault, ...]:
        """The faults with an outcome."""
        return tuple(fault for fault in self.faults if fault.name in self.outcomes)

    @property
    def survivors(self) -> tuple[Fault, ...]:
        """The faults that no test found."""
        return tuple(fault for fault in self.tried if self._ending(fault) is Ending.SURVIVED)

    @property
    def equivalent(self) -> tuple[Fault, ...]:
        """Survivors that are no fault."""
        return tuple(fault for fault in self.survivors if self.worth(fault) == "equivalent")

    @property
    def score(self) -> float:
        """Faults that were found, of those that are no equivalents."""
        real = len(self.tried) - len(self.equivalent)
        return (len(self.tried) - len(self.survivors)) / real if real else 1.0

    def worth(self, survivor: Fault) -> str:
        """`equivalent`, `gap` or `not judged`."""
        judgement = self.judgements.get(survivor.name)
        return "not judged" if judgement is None else Worth(judgement.worth).value

    def as_data(self) -> dict[str, Any]:
        """For JSON, which `read_outcomes` reads."""
        return {
            "score": self.score,
            "outcomes": [
                {
                    "name": name,
                    "ending": outcome.ending.value,
                    "test": outcome.test,
                    "seconds": round(outcome.seconds, 1),
                }
                for name, outcome in self.outcomes.items()
            ],
        }

    def print(self, console: Console) -> None:
        """A row for each kind of fault, the survivors, and the score."""
        table = Table("fault", *(ending.value for ending in Ending), "equivalent")
        for kind in Kind:
            own = [fault for fault in self.tried if fault.kind is kind]
            if own:
                counts = [sum(self._ending(fault) is ending for fault in own) for ending in Ending]
                equal = sum(fault.kind is kind for fault in self.equivalent)
                table.add_row(kind.value, *map(str, (*counts, equal)))
        console.print(table)
        for fault in self.survivors:
            line = f"{fault.path}:{fault.line} {fault.name}: {self.worth(fault)}"
            console.print(escape(line), soft_wrap=True)
        found = len(self.tried) - len(self.survivors)
        console.print(
            f"{len(self.tried)} faults, {len(self.equivalent)} of them equivalent; {found} found: "
            f"{self.score:.1%}"
        )

    def _ending(self, fault: Fault) -> Ending:
        return self.outcomes[fault.name].ending


def read_outcomes(path: Path) -> dict[str, Outcome]:
    """The outcomes of an earlier run, by the fault's name; none if there is no report."""
    if not path.exists():
        return {}
    return {
        one["name"]: Outcome(Ending(one["ending"]), one["test"], one["seconds"])
        for one in json.loads(path.read_text())["outcomes"]
    }


def write_patch(fault: Fault, root: Path, folder: Path) -> Path:
    """Write a fault as a patch, which `git apply` plants."""
    folder.mkdir(parents=True, exist_ok=True)
    text = (root / fault.path).read_text()
    patch = difflib.unified_diff(
        text.splitlines(keepends=True),
        fault.planted(text).splitlines(keepends=True),
        f"a/{fault.path}",
        f"b/{fault.path}",
    )
    name = re.sub(r"\W+", "-", f"{fault.path} {fault.line} {fault.new}")[:100].strip("-")
    path = folder / f"{name}-{fault.start}.patch"
    path.write_text("".join(patch))
    return path
