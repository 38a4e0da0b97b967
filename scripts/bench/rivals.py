"""Sketches against TVM's MetaSchedule, operator by operator, on one thread and as many trials:

    python -m tandem.scripts.bench.rivals --tvm TVM/bin/python [--trials N] [--only NAME ...]

TVM has an environment of its own (`metaschedule` says how to make it): its packages do not get
along with others. Each operator is an ONNX model of float32 (`sketches.OPERATORS`), compiled for
this processor by both. The ratio is how many times as fast the sketches are. A row is the median
over repeats, each with a seed of its own; trials that failed are counted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median
from tempfile import TemporaryDirectory

from tandem.scripts.bench.sketches import OPERATORS, Operator, compared, tasks_of
from tandem.scripts.tables import plain_console, plain_table, print_table
from tandem.workbench.devices import Cpu

SCRIPT = Path(__file__).with_name("metaschedule.py")


@dataclass(frozen=True, slots=True)
class Rival:
    """What MetaSchedule came to, in seconds of a run, with its trials."""

    seconds: float
    trials: int
    failed: int
    version: str


def rival(python: str, operator: Operator, trials: int, seed: int, mcpu: str) -> Rival:
    """An operator by MetaSchedule.

    Raises
    ------
    subprocess.CalledProcessError
        It could not be compiled; what it printed is shown.
    """
    with TemporaryDirectory() as folder:
        model = Path(folder) / "operator.onnx"
        operator.save(model)
        arguments = ["--trials", str(trials), "--mcpu", mcpu, "--seed", str(seed)]
        done = subprocess.run(
            [python, str(SCRIPT), str(model), *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    found = json.loads(done.stdout.splitlines()[-1])
    return Rival(found["seconds"], found["trials"], found["failed"], found["version"])


def row(
    operator: Operator, trials: int, repeats: int, of_rival: Callable[[int], Rival]
) -> tuple[float, tuple[str, ...]]:
    """The ratio of an operator, and the cells of its row."""
    device = Cpu(1)
    tasks = tasks_of(operator, device)
    ours, theirs, ratios = [], [], []
    for repeat in range(repeats):
        kernels = compared(operator.name, tasks, device, trials, None, print, seed=repeat)
        ours.append((sum(one.best for one in kernels), sum(one.failed for one in kernels)))
        theirs.append(of_rival(repeat))
        ratios.append(theirs[-1].seconds / ours[-1][0])
    ratio = median(ratios)
    cells = (
        operator.name,
        f"{median(seconds for seconds, _ in ours) * 1e6:,.1f} us",
        str(sum(failed for _, failed in ours)),
        f"{median(one.seconds for one in theirs) * 1e6:,.1f} us",
        str(sum(one.failed for one in theirs)),
        f"{ratio:.2f}",
    )
    return ratio, cells


def main() -> int:
    """Compare, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tvm", required=True, help="the Python of TVM's environment")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    names = [operator.name for operator in OPERATORS]
    parser.add_argument("--only", nargs="*", choices=names, default=names)
    asked = parser.parse_args()
    mcpu = Cpu(1).machine.cpu
    table = plain_table(("operator",), ("sketches", "failed", "MetaSchedule", "failed", "ratio"))
    ratios = []
    for operator in OPERATORS:
        if operator.name not in asked.only:
            continue

        def of_rival(seed: int, operator: Operator = operator) -> Rival:
            return rival(asked.tvm, operator, asked.trials, seed, mcpu)

        ratio, cells = row(operator, asked.trials, asked.repeats, of_rival)
        ratios.append(ratio)
        table.add_row(*cells)
        print(*cells, sep="  ", flush=True)
    print_table(plain_console(), table)
    if ratios:
        print(f"geometric mean {geometric_mean(ratios):.2f}, least {min(ratios):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
