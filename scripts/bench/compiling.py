"""Compile times: `python -m tandem.scripts.bench.compiling [--against DIR]`.

The benchmark measures `tandem run resnet18 --engine functional` and `tandem compile resnet18` as
whole processes, and candidate schedules of convolutions of C8's size on `pynq`, from the tiling to
the instruction stream with verified tokens. With `--against`, another checkout that has this module
is measured alternately with this one, and the ratios of their times are compared with targets.

No object code is cached. Times are CPU time of all threads, which excludes waiting for other
programs; the best of several rounds counts.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import TypeVar

import msgspec

from tandem.compiler.machines.accelerator.templates.machine_cost import MemoryTiming
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.scripts.bench.measurements import Measurement, print_measurements
from tandem.scripts.options import DEFAULT_CONFIG, DEFAULT_MEMORY
from tandem.workbench.utilization.build import HIDING, Convolution
from tandem.workbench.utilization.case import make_case
from tandem.workbench.utilization.conv_layers import ConvLayer, parse_layer

CANDIDATE_SECONDS = 20e-3
"""The part of a candidate's time that does not depend on its number of instructions."""
MOST_OF_CANDIDATE = 0.47
"""Target ratio: 20 ms + 30 us per instruction, to the earlier 153 ms for 1,731 instructions."""
CHANNELS = (256, 240, 272, 224, 288)
"""Input channels of the candidates' convolutions: all differ, so that no result is cached."""
ROUNDS = 2
HERE = Path(__file__).parents[2]

_Measured = TypeVar("_Measured")


@dataclass(frozen=True, slots=True)
class Command:
    """A command of `tandem`.

    Attributes
    ----------
    arguments
        Arguments; the command runs in a folder where it may write.
    most
        The target: the largest fraction of another checkout's time.
    """

    arguments: tuple[str, ...]
    most: float

    @property
    def name(self) -> str:
        """The command without its options."""
        return " ".join(("tandem", *self.arguments[:2]))


COMMANDS = (
    Command(("run", "resnet18", "--engine", "functional"), 0.47),
    Command(("compile", "resnet18", "-o", "resnet18.tandem"), 0.52),
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """The CPU time of compiling a candidate schedule, and its number of instructions."""

    seconds: float
    instructions: int

    @property
    def microseconds(self) -> float:
        """CPU time in microseconds per instruction."""
        return self.seconds * 1e6 / self.instructions

    @property
    def further_microseconds(self) -> float:
        """CPU time in microseconds per instruction, without the fixed `CANDIDATE_SECONDS`."""
        return (self.seconds - CANDIDATE_SECONDS) * 1e6 / self.instructions


def candidates(layer: ConvLayer, channels: Sequence[int] = CHANNELS) -> Iterator[Candidate]:
    """Measure candidates for convolutions that differ from `layer` in their input channels.

    A warm-up convolution is compiled first and not returned.
    """
    config, memory = load_config(DEFAULT_CONFIG), parse_memory(DEFAULT_MEMORY)
    timing = MemoryTiming(memory.latency, memory.interval)
    for number, inputs in enumerate((config.block_in, *channels)):
        case = make_case(replace(layer, inputs=inputs), seed=0)
        convolution = Convolution.of(case, config, timing)
        begun = process_time()
        built = convolution.build(HIDING)
        taken = process_time() - begun
        if number:
            yield Candidate(taken, len(built.stream.program))


def figures(tree: Path, against: Path | None, rounds: int = ROUNDS) -> Iterator[Measurement]:
    """Measurements of the checkout `tree`, compared with those of `against` if given."""
    trees = (tree,) if against is None else (tree, against)
    for command in COMMANDS:
        taken = _alternately(partial(_seconds, command), trees, rounds)
        now, *before = (min(seconds) for seconds in taken)
        yield Measurement(command.name, now, "s")
        for then in before:
            yield Measurement(f"{command.name}, before", then, "s")
            yield _ratio(command.name, now / then, command.most)
    best = [
        min(of_tree, key=lambda found: sum(candidate.seconds for candidate in found))
        for of_tree in _alternately(_candidates, trees, rounds)
    ]
    for found, when in zip(best, ("", ", before"), strict=False):
        yield from _of_candidates(found, when)
    now, *before = (median(candidate.seconds for candidate in found) for found in best)
    for then in before:
        yield _ratio("candidate", now / then, MOST_OF_CANDIDATE)


def _ratio(name: str, ratio: float, most: float) -> Measurement:
    return Measurement(name, ratio, "of the time before", most, at_most=True)


def _of_candidates(found: Sequence[Candidate], when: str) -> Iterator[Measurement]:
    name = f"candidate{when}"
    yield Measurement(name, median(each.seconds for each in found) * 1e3, "ms")
    yield Measurement(name, median(each.instructions for each in found), "instructions")
    yield Measurement(name, median(each.microseconds for each in found), "us an instruction")
    yield Measurement(
        f"{name}, beyond {CANDIDATE_SECONDS * 1e3:.0f} ms",
        median(each.further_microseconds for each in found),
        "us an instruction",
    )


def _alternately(
    measure: Callable[[Path], _Measured], trees: Sequence[Path], rounds: int
) -> list[list[_Measured]]:
    """The measurements of all rounds, by checkout; a round measures every checkout."""
    results = [[measure(tree) for tree in trees] for _ in range(rounds)]
    return [list(of_one_tree) for of_one_tree in zip(*results, strict=True)]


def _seconds(command: Command, tree: Path) -> float:
    before = _time_of_children()
    _python(tree, "tandem.scripts.cli", *command.arguments)
    return _time_of_children() - before


def _time_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _candidates(tree: Path) -> list[Candidate]:
    """The candidates of a checkout, measured by the checkout's own version of this module."""
    return msgspec.json.decode(
        _python(tree, "tandem.scripts.bench.compiling", "--candidates"), type=list[Candidate]
    )


def _python(tree: Path, module: str, *arguments: str) -> bytes:
    """The standard output of a module of a checkout, run in an empty folder with no cache."""
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": str(tree), "TANDEM_CACHE": f"{folder}/cache"}
        done = subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            check=True,
        )
    return done.stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; return 1 if a target is missed; only comparisons have targets."""
    parser = argparse.ArgumentParser(prog="python -m tandem.scripts.bench.compiling")
    parser.add_argument("--against", metavar="DIR", type=Path, help="another checkout")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--candidates", action="store_true", help="only these, as JSON")
    asked = parser.parse_args(arguments)
    if asked.candidates:
        print(msgspec.json.encode([*candidates(parse_layer("C8"))]).decode())
        return 0
    against = None if asked.against is None else asked.against.resolve()
    return print_measurements(figures(HERE, against, asked.rounds))


if __name__ == "__main__":
    sys.exit(main())
