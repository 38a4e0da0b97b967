"""Plants single faults in the Python source and counts those that the tests find.

    python -m tests.mutation.python.run [--count 100] [--seed 1] [--files 'compiler/lower/*']

Ends with 1 when the tests find fewer than 95 of a hundred faults that are no equivalents. What was
found out is kept in the report, and a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path
from queue import SimpleQueue

from rich.console import Console

from tests.mutation.python.faults import Fault, list_faults
from tests.mutation.python.mirrored import Mirrors
from tests.mutation.python.report import Report, describe, read_outcomes, write_patch
from tests.mutation.python.sample import sample
from tests.mutation.python.survivors import JUDGED, read_judgements
from tests.mutation.python.trial import Ending, Outcome, Tree, UnclearError
from tests.support.packages import FOLDERS, source_files

ROOT = Path(__file__).parents[3]
TARGET = 0.95
_LEFT_OUT = ("scripts/bench/*",)
"""Files of which no test is meant to notice much: measurements of speed."""


def main(arguments: Sequence[str]) -> int:
    """The command; gives its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=100, help="how many faults")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of faults")
    parser.add_argument("--files", default="*", help="a pattern of the paths of files")
    parser.add_argument("--only", default="", help="faults whose name has this in it")
    parser.add_argument(
        "--rest",
        action="store_true",
        help="all quick tests, for what survived",
    )
    parser.add_argument("--jobs", type=int, default=1, help="copies of the tree, at the same time")
    parser.add_argument("--seconds", type=float, default=900.0, help="limit of a stage of tests")
    parser.add_argument("--report", type=Path, default=Path("build/python-mutants.json"))
    asked = parser.parse_args(arguments)
    console = Console(soft_wrap=True, highlight=False)

    faults = [fault for fault in _faults(asked.files) if asked.only in fault.name]
    chosen = sample(faults, asked.count, asked.seed)
    asked.report.parent.mkdir(parents=True, exist_ok=True)
    outcomes = read_outcomes(asked.report)
    judgements = read_judgements(JUDGED.read_text())
    again: set[str] = set()
    if asked.rest and outcomes:
        chosen = [fault for fault in faults if fault.name in outcomes]
        again = {name for name, one in outcomes.items() if one.ending is Ending.SURVIVED}
        again -= {*judgements}
    todo = [fault for fault in chosen if fault.name not in outcomes or fault.name in again]
    console.print(f"{len(faults)} faults, {len(chosen)} chosen, {len(todo)} to be tried")
    report = Report(tuple(chosen), outcomes, judgements)
    mirrors = Mirrors(ROOT)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(asked.jobs) as pool:
        trees: SimpleQueue[Tree] = SimpleQueue()
        for number in range(asked.jobs):
            trees.put(Tree(ROOT, Path(folder) / str(number), asked.seconds))

        def judge(fault: Fault) -> tuple[Fault, Outcome | UnclearError]:
            tree = trees.get()
            try:
                return fault, tree.judge(fault, mirrors.of(fault.path), rest=asked.rest)
            except UnclearError as error:
                return fault, error
            finally:
                trees.put(tree)

        for fault, outcome in pool.map(judge, todo):
            if isinstance(outcome, UnclearError):
                # Not kept: the next run tries it again.
                console.print(f"     {fault.name}: {outcome}", markup=False)
                continue
            outcomes[fault.name] = outcome
            # What is known so far outlives an interruption.
            asked.report.write_text(json.dumps(report.as_data(), indent=1))
            console.print(f"{len(outcomes):4} {describe(fault, outcome)}", markup=False)
    for fault in report.survivors:
        write_patch(fault, ROOT, asked.report.with_suffix(""))
    report.print(console)
    return int(report.score < TARGET)


def _faults(pattern: str) -> list[Fault]:
    """The faults of all source files that match a pattern."""
    found: list[Fault] = []
    for folder in FOLDERS:
        for file in source_files(ROOT, folder):
            path = str(file)
            if fnmatch(path, pattern) and not any(fnmatch(path, out) for out in _LEFT_OUT):
                found += list_faults(path, (ROOT / file).read_text())
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
