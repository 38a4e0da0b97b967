"""What became of the mutants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tests.mutation.killing import Verdict
from tests.mutation.mutants import Mutant
from tests.mutation.survivors import Judgement, Worth


@dataclass(frozen=True, slots=True)
class Outcome:
    """One mutant of a configuration. `proven` means that Yosys proved it to be no fault."""

    config: str
    mutant: Mutant
    verdict: Verdict
    proven: bool


def describe(outcome: Outcome) -> str:
    """One line: the mutant, and what became of it."""
    verdict = outcome.verdict
    ending = f"{verdict.kind.value} {verdict.test}".rstrip()
    proven = ", proven equivalent" if outcome.proven else ""
    return f"{outcome.config} {outcome.mutant.name}: {ending}{proven} ({verdict.seconds:.0f} s)"


@dataclass(frozen=True, slots=True)
class Report:
    """All outcomes, and what is known of survivors by hand."""

    outcomes: tuple[Outcome, ...]
    judgements: Mapping[tuple[str, str], Judgement]

    @property
    def killed(self) -> tuple[Outcome, ...]:
        """Mutants that a test found."""
        return tuple(outcome for outcome in self.outcomes if outcome.verdict.killed)

    @property
    def survivors(self) -> tuple[Outcome, ...]:
        """The others."""
        return tuple(outcome for outcome in self.outcomes if not outcome.verdict.killed)

    @property
    def equivalent(self) -> tuple[Outcome, ...]:
        """Survivors that are no fault."""
        return tuple(outcome for outcome in self.survivors if self.worth(outcome) == "equivalent")

    @property
    def score(self) -> float:
        """Killed mutants, of those that are not equivalent."""
        faults = len(self.outcomes) - len(self.equivalent)
        return len(self.killed) / faults if faults else 1.0

    def worth(self, survivor: Outcome) -> str:
        """`equivalent`, `gap` or `not judged`."""
        if survivor.proven:
            return Worth.EQUIVALENT.value
        judgement = self.judgements.get((survivor.config, survivor.mutant.name))
        return judgement.worth.value if judgement else "not judged"

    def as_data(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "killed": len(self.killed),
            "equivalent": len(self.equivalent),
            "mutants": len(self.outcomes),
            "score": self.score,
            "outcomes": [
                {
                    "config": outcome.config,
                    "name": outcome.mutant.name,
                    "mutant": asdict(outcome.mutant),
                    "verdict": outcome.verdict.kind.value,
                    "test": outcome.verdict.test,
                    "seconds": round(outcome.verdict.seconds, 1),
                    "worth": "" if outcome.verdict.killed else self.worth(outcome),
                    "proven": outcome.proven,
                }
                for outcome in self.outcomes
            ],
        }

    def print(self, console: Console) -> None:
        """Who killed them, module by module, and the survivors."""
        killers = Counter(outcome.verdict.test.partition("[")[0] for outcome in self.killed)
        table = Table("test", "kills")
        for test, count in killers.most_common():
            table.add_row(test, str(count))
        console.print(table)
        for outcome in self.survivors:
            how = "proven equivalent" if outcome.proven else self.worth(outcome)
            console.print(escape(f"{outcome.config} {outcome.mutant.name}: {how}"), soft_wrap=True)
        console.print(
            f"{len(self.outcomes)} mutants, {len(self.equivalent)} of them equivalent; "
            f"{len(self.killed)} killed: {self.score:.1%}"
        )
