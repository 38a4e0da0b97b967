"""Sketches against TVM's MetaSchedule, operator by operator, on one thread and as many trials:

    python -m tandem.scripts.bench.rivals --tvm TVM/bin/python [--trials N] [--only NAME ...]
        [--results FILE]

TVM has an environment of its own (`metaschedule` says how to make it): its packages do not get
along with others. Each operator is an ONNX model of float32 (`sketches.OPERATORS`), compiled for
this processor by both. The ratio is how many times as fast the sketches are. A row is the median
over repeats, each with a seed of its own; trials that failed are counted.

With 200 trials and three repeats it takes hours: what is in the file of `--results` is not measured
again, so that it can be stopped and go on.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import geometric_mean, median
from tempfile import TemporaryDirectory
from typing import Literal

from tandem.scripts.bench.sketches import OPERATORS, Operator, compared, tasks_of
from tandem.scripts.tables import plain_console, plain_table, print_table
from tandem.workbench.devices import Cpu

SCRIPT = Path(__file__).with_name("metaschedule.py")

Side = Literal["sketches", "MetaSchedule"]
SIDES: tuple[Side, ...] = ("sketches", "MetaSchedule")


@dataclass(frozen=True, slots=True)
class Tuned:
    """What tuning an operator came to.

    Attributes
    ----------
    side
        Who tuned it.
    repeat
        The seed.
    seconds
        Of a run; of MetaSchedule the lesser of a run of the whole model and of its kernels alone.
    trials, failed
        Trials of all kernels together, and how many of them could not be measured.
    """

    operator: str
    side: Side
    repeat: int
    asked: int
    processor: str
    seconds: float
    trials: int
    failed: int
    version: str = ""


Measure = Callable[[Operator, int], Tuned]
"""Tunes an operator with a seed."""


def by_sketches(operator: Operator, trials: int, repeat: int) -> Tuned:
    """An operator by sketches alone."""
    device = Cpu(1)
    kernels = compared(
        operator.name, tasks_of(operator, device), device, trials, None, print, seed=repeat
    )
    return Tuned(
        operator.name,
        "sketches",
        repeat,
        trials,
        device.machine.cpu,
        sum(one.best for one in kernels),
        sum(one.trials for one in kernels),
        sum(one.failed for one in kernels),
    )


def by_metaschedule(
    python: str, operator: Operator, trials: int, repeat: int, processor: str
) -> Tuned:
    """An operator by MetaSchedule.

    Parameters
    ----------
    python
        The Python of TVM's environment.
    processor
        LLVM's name of the processor.

    Raises
    ------
    subprocess.CalledProcessError
        It could not be compiled; what it printed is shown.
    """
    with TemporaryDirectory() as folder:
        model = Path(folder) / "operator.onnx"
        operator.save(model)
        arguments = ["--trials", str(trials), "--mcpu", processor, "--seed", str(repeat)]
        done = subprocess.run(
            [python, str(SCRIPT), str(model), *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    found = json.loads(done.stdout.splitlines()[-1])
    return Tuned(
        operator.name,
        "MetaSchedule",
        repeat,
        trials,
        processor,
        min(found["seconds"], found["kernels"]),
        found["trials"],
        found["failed"],
        found["version"],
    )


@dataclass(frozen=True, slots=True)
class Results:
    """What was measured before, and what is measured now.

    Attributes
    ----------
    path
        A file of one line of JSON each, which grows; None for none.
    """

    path: Path | None
    trials: int
    processor: str

    def known(self) -> list[Tuned]:
        """What the file has of as many trials on this processor."""
        if self.path is None or not self.path.exists():
            return []
        found = (Tuned(**json.loads(line)) for line in self.path.read_text().splitlines())
        return [one for one in found if (one.asked, one.processor) == (self.trials, self.processor)]

    def get(self, operator: Operator, side: Side, repeat: int, measure: Measure) -> Tuned:
        """What is known, or what is measured now."""
        for one in self.known():
            if (one.operator, one.side, one.repeat) == (operator.name, side, repeat):
                return one
        found = measure(operator, repeat)
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(asdict(found)) + "\n")
        return found


def row(ours: Sequence[Tuned], theirs: Sequence[Tuned]) -> tuple[float, tuple[str, ...]]:
    """The ratio of an operator, and the cells of its row, from repeats of both sides."""
    ratio = median(other.seconds / own.seconds for own, other in zip(ours, theirs, strict=True))
    cells = (
        ours[0].operator,
        f"{median(one.seconds for one in ours) * 1e6:,.1f} us",
        str(sum(one.failed for one in ours)),
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
    parser.add_argument("--results", type=Path, help="keeps what is measured, and is gone on with")
    asked = parser.parse_args()
    processor = Cpu(1).machine.cpu
    results = Results(asked.results, asked.trials, processor)
    measures: dict[Side, Measure] = {
        "sketches": lambda operator, seed: by_sketches(operator, asked.trials, seed),
        "MetaSchedule": lambda operator, seed: by_metaschedule(
            asked.tvm, operator, asked.trials, seed, processor
        ),
    }
    table = plain_table(("operator",), ("sketches", "failed", "MetaSchedule", "failed", "ratio"))
    ratios = []
    for operator in OPERATORS:
        if operator.name not in asked.only:
            continue
        found: dict[Side, list[Tuned]] = {side: [] for side in SIDES}
        for repeat in range(asked.repeats):
            for side in SIDES:
                found[side].append(results.get(operator, side, repeat, measures[side]))
        ratio, cells = row(found["sketches"], found["MetaSchedule"])
        ratios.append(ratio)
        table.add_row(*cells)
        print(*cells, sep="  ", flush=True)
    print_table(plain_console(), table)
    if ratios:
        print(f"geometric mean {geometric_mean(ratios):.2f}, least {min(ratios):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
