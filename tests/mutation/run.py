"""Plants single faults in the RTL and counts those that the quick tests find.

    python -m tests.mutation.run [--config tiny-x] [--count 120] [--seed 1] [--report mutants.json]
    python -m tests.mutation.run --config tiny --modules master bus_timer

Ends with 1 when the tests find fewer than nine in ten of the mutants that are not equivalent.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from tandem.hw.rtl.verilog import VerilogDesign
from tandem.sim.rtl.design import verilog_of
from tests.mutation.equivalence import is_equivalent
from tests.mutation.killing import BUILD_SECONDS, TEST_SECONDS, TESTS, Verdict, run_tests
from tests.mutation.machines import machine_of
from tests.mutation.mutants import Mutant, list_mutants
from tests.mutation.planting import plant
from tests.mutation.plugin import save_planted
from tests.mutation.report import Outcome, Report, describe
from tests.mutation.survivors import JUDGED, read_judgements

_COUNT = 120
_FIRST_SHARE, _OTHER_SHARE = 0.65, 0.175
TARGET = 0.9


@dataclass(frozen=True, slots=True)
class Campaign:
    """The mutants of one configuration."""

    config: str
    design: VerilogDesign
    mutants: tuple[Mutant, ...]


def campaigns(
    count: int, seed: int, only: str | None = None, words: Sequence[str] = ("",)
) -> tuple[Campaign, ...]:
    """Mutants of every module of the first configuration, and for each other configuration, of
    those modules whose text differs there: which have other widths, or another structure. `only`
    names the configuration that gets all of them. Modules have one of `words` in their names."""
    made: list[Campaign] = []
    seen: set[str] = set()
    shares = [_FIRST_SHARE] + [_OTHER_SHARE] * (len(TESTS) - 1)
    if only is not None:
        shares = [float(config == only) for config in TESTS]
    for number, (config, share) in enumerate(zip(TESTS, shares, strict=True)):
        design = verilog_of(machine_of(config))
        texts = {name: _text(design, name) for name in design.modules}
        fresh = [
            name
            for name, text in texts.items()
            if text not in seen and any(word in name for word in words)
        ]
        seen.update(texts.values())
        if not share or not fresh:
            continue
        # Another seed, or modules that are alike would have the same mutants again.
        mutants = list_mutants(design, fresh, round(count * share), seed + number)
        made.append(Campaign(config, design, mutants))
    return tuple(made)


def main(arguments: Sequence[str]) -> int:
    """The command; gives its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--config", choices=TESTS, help="mutants of this configuration alone")
    parser.add_argument(
        "--modules", nargs="+", default=[""], help="mutants of modules whose names have such a word"
    )
    parser.add_argument("--count", type=int, default=_COUNT, help="about how many mutants")
    parser.add_argument("--seed", type=int, default=1, help="of Yosys's choice")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", default="", help="mutants whose name has this in it")
    parser.add_argument("--report", type=Path, default=Path("build/mutants.json"))
    asked = parser.parse_args(arguments)
    console = Console(soft_wrap=True, highlight=False)

    judgements = read_judgements(JUDGED.read_text())
    asked.report.parent.mkdir(parents=True, exist_ok=True)
    report = Report((), judgements)
    for campaign in campaigns(asked.count, asked.seed, asked.config, asked.modules):
        console.print(f"{campaign.config}: {len(campaign.mutants)} mutants")
        for outcome in _outcomes(campaign, asked.only, asked.jobs):
            report = Report((*report.outcomes, outcome), judgements)
            # What is known so far outlives an interruption.
            asked.report.write_text(json.dumps(report.as_data(), indent=1))
            console.print(f"{len(report.outcomes):4} {describe(outcome)}", markup=False)
    report.print(console)
    console.print(f"every mutant: {asked.report}")
    return int(report.score < TARGET)


def _outcomes(campaign: Campaign, only: str, jobs: int) -> Iterator[Outcome]:
    """Build once, see that without a fault all tests pass, then try every mutant."""
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(jobs) as pool:
        planted = Path(name) / "planted.json"
        config = machine_of(campaign.config)
        save_planted(planted, config, plant(campaign.design, campaign.mutants))
        # Once more when all is built, or a slow test would be taken for one that hangs.
        for seconds in (BUILD_SECONDS, TEST_SECONDS):
            healthy = run_tests(TESTS[campaign.config], planted, 0, test_seconds=seconds)
            if healthy.killed:
                raise SystemExit(f"without a fault, {healthy.test} ends: {healthy.kind.value}")

        def judge(numbered: tuple[int, Mutant]) -> Outcome:
            number, mutant = numbered
            verdict: Verdict = run_tests(TESTS[campaign.config], planted, number)
            proven = not verdict.killed and is_equivalent(campaign.design, mutant)
            return Outcome(campaign.config, mutant, verdict, proven)

        wanted = (
            (number, mutant)
            for number, mutant in enumerate(campaign.mutants, start=1)
            if only in mutant.name
        )
        yield from pool.map(judge, wanted)


def _text(design: VerilogDesign, module: str) -> str:
    """A module's Verilog without its header, which names the configuration."""
    text = design.files[f"{module}.v"]
    return text[text.index("module ") :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
