"""What records of one network bring for another:
`python -m tandem.scripts.bench.transfer --taught FILE --records FILE`.

The convolutions that ResNet-50 has and ResNet-18 has not are tuned by the learned model from
nothing, and by the same model with records of ResNet-18's convolutions to learn from, with some
seeds each. Both begin with the default choices. The gain of a number of trials is what all layers'
best choices save by then, on average over seeds, each as often as its layer occurs, as a part of
what the best known choices save: those that any search found, branch and bound included.
Measurements are kept: a second run measures nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tandem.compiler.machines.defaults import LEARNED
from tandem.compiler.plan.space import Floats
from tandem.compiler.tune.boosted_trees import Measured
from tandem.compiler.tune.candidates import Candidates
from tandem.compiler.tune.explorers.table import make_explorer
from tandem.compiler.tune.recorded import Proposer
from tandem.compiler.tune.tasks import Task
from tandem.compiler.tune.transfer import examples
from tandem.compiler.tune.tuner import BATCH, Tuning
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.scripts.bench.tuning import Measurements
from tandem.scripts.options import DEFAULT_MEMORY
from tandem.scripts.records import warn
from tandem.scripts.tables import plain_console, plain_table, print_table
from tandem.workbench.devices import Accelerator
from tandem.workbench.measurers.on_cycle import cycles_of
from tandem.workbench.pools.local_pool import LocalPool, default_jobs
from tandem.workbench.recorded_choices import known_records
from tandem.workbench.utilization.conv_layers import parse_layer
from tandem.workbench.utilization.tasks import tasks_of_layers

LAYERS: dict[str, int] = {
    "56,56,64,64,1,1,0": 1,
    "56,56,64,256,1,1,0": 4,
    "56,56,256,64,1,1,0": 2,
    "56,56,256,128,1,1,0": 1,
    "56,56,128,128,3,2,1": 1,
    "28,28,128,512,1,1,0": 4,
    "56,56,256,512,1,2,0": 1,
    "28,28,512,128,1,1,0": 3,
    "28,28,512,256,1,1,0": 1,
    "28,28,256,256,3,2,1": 1,
    "14,14,256,1024,1,1,0": 6,
    "28,28,512,1024,1,2,0": 1,
    "14,14,1024,256,1,1,0": 5,
    "14,14,1024,512,1,1,0": 1,
    "14,14,512,512,3,2,1": 1,
    "7,7,512,2048,1,1,0": 3,
    "14,14,1024,2048,1,2,0": 1,
    "7,7,2048,512,1,1,0": 2,
}
"""Convolutions of ResNet-50 that ResNet-18 does not have, and how often they occur."""
GAIN = 0.95
TRIALS = 24
SHOWN = 0, 1, 2, 4, 8, 16, 24
"""The numbers of trials in the table."""
SEEDS = 3
EXACT = 24
"""Trials of branch and bound, which help to know the best choice."""

TAUGHT = "taught"
"""What records call the learned model with examples."""


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """The best cost of a layer by the number of trials, from the default's, on average over seeds:
    [trials + 1] each."""

    count: int
    alone: Floats
    taught: Floats
    best: float


def best_costs(
    task: Task,
    candidates: Candidates,
    measurements: Measurements,
    by: Proposer,
    trials: int,
    others: Sequence[Measured] = (),
) -> Floats:
    """The best cost of a search, before its first trial and after each."""
    measure = measurements.measure(task, by)
    (default,) = measure([task.default], float("inf"))
    explorer = "xgboost" if by.explorer == TAUGHT else by.explorer
    tuning = Tuning(candidates, make_explorer(explorer, candidates, by.seed, others))
    while len(tuning.trials) < trials:
        if not tuning.step(measure, min(BATCH, trials - len(tuning.trials))):
            break
    costs = [trial.outcome.cost for trial in tuning.trials]
    rest = [float("inf")] * (trials - len(costs))
    return np.minimum.accumulate(np.array([default.cost, *costs, *rest]))


def curves_of(
    tasks: Sequence[Task],
    measurements: Measurements,
    others: Sequence[Measured],
    trials: int,
    seeds: int,
) -> Iterator[Curves]:
    """The curves of each layer."""
    for task in tasks:
        space = Candidates.of(task.target, task.template, task.workload)
        alone, taught = (
            np.array(
                [
                    best_costs(task, space, measurements, Proposer(name, seed), trials, examples)
                    for seed in range(seeds)
                ]
            )
            for name, examples in (("xgboost", ()), (TAUGHT, others))
        )
        exact = best_costs(task, space, measurements, Proposer("exact", 0), EXACT)
        best = min(alone.min(), taught.min(), exact[-1])
        yield Curves(task.count, alone.mean(axis=0), taught.mean(axis=0), float(best))


def gains(curves: Sequence[Curves], taught: bool) -> Floats:
    """The gain of all layers by the number of trials of each, as a part of the best known gain."""
    chosen = [(each.count, each.taught if taught else each.alone, each.best) for each in curves]
    most = sum(count * (curve[0] - best) for count, curve, best in chosen)
    saved: Floats = np.sum([count * (curve[0] - curve) for count, curve, _ in chosen], axis=0)
    return np.asarray(saved / most)


def trials_to(gain: Floats, wanted: float) -> int | None:
    """The first number of trials with a gain of at least `wanted`."""
    reached = np.flatnonzero(gain >= wanted)
    return int(reached[0]) if len(reached) else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tandem.scripts.bench.transfer")
    parser.add_argument("--config", default="pynq-x")
    parser.add_argument("--memory", default=DEFAULT_MEMORY)
    parser.add_argument("--taught", type=Path, required=True, help="records to learn from")
    parser.add_argument("--records", type=Path, metavar="FILE", help="kept measurements")
    parser.add_argument("--layer", action="append", help="H,W,IC,OC,K,STRIDE,PAD")
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--jobs", type=int, default=default_jobs())
    asked = parser.parse_args(arguments)
    machine = Accelerator(load_config(asked.config), parse_memory(asked.memory), hiding=True)
    layers = asked.layer or [layer for layer, count in LAYERS.items() for _ in range(count)]
    named = [parse_layer(f"{layer}={layer}") for layer in dict.fromkeys(layers)]
    known = known_records(asked.records, warn) if asked.records and asked.records.exists() else []
    others = [one.measured for one in examples(known_records(asked.taught, warn), LEARNED)]
    with LocalPool(cycles_of, asked.jobs) as pool:
        measurements = Measurements(machine, pool, asked.records, known)
        tasks = tasks_of_layers(named, machine, 0)
        curves = [*curves_of(tasks, measurements, others, asked.trials, asked.seeds)]
    counted = [
        Curves(layers.count(task.name), one.alone, one.taught, one.best)
        for task, one in zip(tasks, curves, strict=True)
    ]
    table = plain_table(("search",), (*map(str, SHOWN), f"trials to {GAIN:.0%}"))
    for name, taught in (("from nothing", False), ("with records", True)):
        gain = gains(counted, taught)
        shown = [f"{gain[at]:.1%}" if at < len(gain) else "" for at in SHOWN]
        table.add_row(name, *shown, str(trials_to(gain, GAIN) or "-"))
    print_table(plain_console(), table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
