"""Sketches against TVM's MetaSchedule, operator by operator, on one thread and as many trials:

    python -m tandem.scripts.bench.rivals --tvm TVM/bin/python --results FOLDER [--trials N]
        [--repeats N] [--only NAME ...]

TVM has an environment of its own (`metaschedule` says how to make it): its packages do not get
along with others. Each operator is an ONNX model of float32 (`sketches.OPERATORS`), compiled for
this processor by both, with a seed of its own in each repeat; trials that failed are counted. What
both found runs alternately then. The ratio is how many times as fast the sketches are, the median
of all rounds.

With 200 trials and three repeats it takes hours: what is in the folder is not done again, so that
it can be stopped and go on.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import which
from statistics import geometric_mean, median
from typing import Any

from tandem.base.files import write_atomically
from tandem.scripts.bench.sketches import OPERATORS, Operator, compared, seconds_of, tasks_of
from tandem.scripts.tables import plain_console, plain_table, print_table
from tandem.workbench.devices import Cpu

SCRIPT = Path(__file__).with_name("metaschedule.py")
ROUNDS = 5
"""Rounds of a repeat in which one runs after the other."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What results belong to: the trials of each kernel, and LLVM's name of the processor."""

    trials: int
    processor: str


@dataclass(frozen=True, slots=True)
class Repeat:
    """An operator that both tune with one seed; what is known of it lies in a folder.

    Attributes
    ----------
    python
        The Python of TVM's environment.
    """

    operator: Operator
    seed: int
    settings: Settings
    python: str
    folder: Path

    def _path(self, kind: str) -> Path:
        name = "".join(each if each.isalnum() else "_" for each in self.operator.name)
        return self.folder / f"{name}.{self.seed}.{kind}"

    def _kept(self, kind: str, make: Callable[[], Any]) -> Any:
        """What a file of the folder has, or is made now."""
        path = self._path(kind)
        if not path.exists():
            write_atomically(path, json.dumps(make()))
        return _read(path)

    def _ask(self, *options: str) -> Any:
        """What MetaSchedule's script prints last.

        Raises
        ------
        subprocess.CalledProcessError
            It failed; what it printed is shown.
        """
        model = self._path("onnx").resolve()
        if not model.exists():
            self.operator.save(model)
        library = self._path("so").resolve()
        done = subprocess.run(
            [self.python, str(SCRIPT), str(model), str(library), *options],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return json.loads(done.stdout.splitlines()[-1])

    def rival(self) -> Any:
        """MetaSchedule's trials, and how many failed; it writes a library. Raises as `_ask`."""
        options = ["--trials", str(self.settings.trials), "--mcpu", self.settings.processor]
        return self._kept("rival", lambda: self._ask(*options, "--seed", str(self.seed)))

    def own(self) -> Any:
        """The sketches' trials, how many failed, and the best decisions for each kernel."""

        def tuned() -> object:
            device = Cpu(1)
            tasks = tasks_of(self.operator, device)
            name, trials = self.operator.name, self.settings.trials
            kernels = compared(name, tasks, device, trials, None, print, self.seed)
            return {
                "trials": sum(one.trials for one in kernels),
                "failed": sum(one.failed for one in kernels),
                "choices": [{**one.choice} for one in kernels],
            }

        return self._kept("own", tuned)

    def seconds(self) -> list[tuple[float, float]]:
        """Seconds of a run by sketches and by MetaSchedule, round by round. Raises as `_ask`."""
        choices = self.own()["choices"]
        self.rival()

        def rounds() -> object:
            device = Cpu(1)
            tasks = tasks_of(self.operator, device)
            found = []
            for _ in range(ROUNDS):
                own = sum(map(seconds_of(device), tasks, choices))
                found.append((own, self._ask()["seconds"]))
            return found

        return [(own, other) for own, other in self._kept("seconds", rounds)]


def _read(path: Path) -> Any:
    """What a file of results has; raises `ValueError` where it is damaged."""
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise ValueError(f"{path} is damaged: without it, it is made again") from error


def checked(folder: Path, settings: Settings) -> None:
    """Make a folder of results, or see that its results are of these settings.

    Raises
    ------
    ValueError
        They are not.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "settings.json"
    wanted = asdict(settings)
    if not path.exists():
        write_atomically(path, json.dumps(wanted))
    elif _read(path) != wanted:
        raise ValueError(f"{folder} has results of {path.read_text()}, and {wanted} are asked for")


def row(repeats: list[Repeat]) -> tuple[float, tuple[str, ...]]:
    """The ratio of an operator, and the cells of its row."""
    rounds = [pair for one in repeats for pair in one.seconds()]
    ratio = median(other / own for own, other in rounds)
    cells = (
        repeats[0].operator.name,
        f"{median(own for own, _ in rounds) * 1e6:,.1f} us",
        str(sum(one.own()["failed"] for one in repeats)),
        f"{median(other for _, other in rounds) * 1e6:,.1f} us",
        str(sum(one.rival()["failed"] for one in repeats)),
        f"{ratio:.2f}",
    )
    return ratio, cells


def main() -> int:
    """The command: compares what its arguments name, and says what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tvm", required=True, help="the Python of TVM's environment")
    parser.add_argument(
        "--results", required=True, type=Path, help="a folder, made or gone on with"
    )
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    names = [operator.name for operator in OPERATORS]
    parser.add_argument("--only", nargs="*", choices=names, default=names)
    asked = parser.parse_args()
    if which(asked.tvm) is None:
        parser.error(f"--tvm: there is no program {asked.tvm}")
    try:
        _compare(asked)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _compare(asked: argparse.Namespace) -> None:
    """Print a table. Raises as `checked` and `Repeat.seconds`."""
    settings = Settings(asked.trials, Cpu(1).machine.cpu)
    checked(asked.results, settings)
    table = plain_table(("operator",), ("sketches", "failed", "MetaSchedule", "failed", "ratio"))
    ratios = []
    for operator in OPERATORS:
        if operator.name not in asked.only:
            continue
        seeds = range(asked.repeats)
        ratio, cells = row(
            [Repeat(operator, seed, settings, asked.tvm, asked.results) for seed in seeds]
        )
        ratios.append(ratio)
        table.add_row(*cells)
        print(*cells, sep="  ", flush=True)
    print_table(plain_console(), table)
    if ratios:
        print(f"geometric mean {geometric_mean(ratios):.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    sys.exit(main())
