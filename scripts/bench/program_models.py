"""Cost models side by side, on the same programs of layers that they have not seen:
`python -m tandem.scripts.bench.program_models --records FILE [--tree]`.

Choices of each layer are drawn and measured as `cost_models` does. Each model is trained on the
other layers' and ranks those of this one: boosted trees on features of choices, boosted trees on
features of lowered programs, the analytic bound and the estimate, which learn nothing, and with
`--tree` a recurrent network over the tree of loops (PyTorch: the extra `treernn`). A prediction's
time is CPU time of what a model reads of a program, and of its answer. At the end: which features
of choices matter, by their part of what the splits of the boosted trees gain.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from time import process_time
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np

from tandem.compiler.machines.accelerator.costs import FEATURE_NAMES
from tandem.compiler.plan.space import Floats
from tandem.compiler.tune.boosted_trees import BoostedTrees
from tandem.compiler.tune.tree_rnn import TreeRnn
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.scripts.bench.cost_models import LAYERS, measured_layer
from tandem.scripts.bench.held_out_programs import Programs
from tandem.scripts.bench.tuning import Measurements
from tandem.scripts.bench.tuning_model import TOP, Accuracy, accuracy, top
from tandem.scripts.options import DEFAULT_MEMORY
from tandem.scripts.records import warn
from tandem.scripts.tables import plain_console, plain_table, print_table
from tandem.workbench.devices import Accelerator
from tandem.workbench.measurers.on_cycle import cycles_of
from tandem.workbench.pools.local_pool import LocalPool, default_jobs
from tandem.workbench.recorded_choices import known_records
from tandem.workbench.utilization.conv_layers import parse_layer
from tandem.workbench.utilization.tasks import tasks_of_layers

CHOICES: Final = 60
"""Programs of a layer, if there are so many."""
SHOWN: Final = 12
"""Features that are shown."""

Predictor: TypeAlias = Callable[[], Floats]
"""Scores of a layer's programs, by a trained model; higher is better."""


@dataclass(frozen=True, slots=True)
class Model:
    """A cost model.

    Attributes
    ----------
    reads
        What it reads of a program: attributes of `Programs`, with those that they are made of.
    trained
        The predictor for programs, of which what it reads is known, trained on others'.
    """

    reads: tuple[str, ...]
    trained: Callable[[Programs, Sequence[Programs]], Predictor]


def _boosted(
    read: Callable[[Programs], Floats],
) -> Callable[[Programs, Sequence[Programs]], Predictor]:
    def trained(of: Programs, others: Sequence[Programs]) -> Predictor:
        model, numbers = BoostedTrees(0), read(of)
        model.train([each.measured(read(each)) for each in others])
        return lambda: model.scores(numbers, of.references)

    return trained


def _tree_rnn(of: Programs, others: Sequence[Programs]) -> Predictor:
    model, trees = TreeRnn(0), of.trees
    model.train([each.measured_trees for each in others])
    return lambda: model.scores(trees, of.references)


def _known(read: Callable[[Programs], Floats]) -> Callable[..., Predictor]:
    def trained(of: Programs, others: Sequence[Programs]) -> Predictor:
        costs = read(of)
        return lambda: -costs

    return trained


MODELS: Mapping[str, Model] = MappingProxyType(
    {
        "trees, choices": Model(("features",), _boosted(lambda of: of.features)),
        "trees, programs": Model(("lowered", "vectors"), _boosted(lambda of: of.vectors)),
        "bound": Model(("bounds",), _known(lambda of: of.bounds)),
        "estimate": Model(("estimates",), _known(lambda of: of.estimates)),
    }
)
TREE: Final = "tree RNN"


@dataclass(frozen=True, slots=True)
class Judged:
    """A model on a layer that it has not seen.

    Attributes
    ----------
    top
        The best cost of the programs that it likes best, as a multiple of the best of all.
    reading, answering
        CPU seconds of a prediction.
    """

    accuracy: Accuracy
    top: float
    reading: float
    answering: float

    @staticmethod
    def of(model: Model, programs: Programs, others: Sequence[Programs]) -> Judged:
        """Train the model on others, and ask it about these programs."""
        predictor = model.trained(programs, others)
        begun = process_time()
        scores = predictor()
        taken = process_time() - begun
        costs = programs.ranking.costs
        return Judged(
            accuracy(scores, costs, float(costs.min())),
            float(costs[top(scores)].min() / costs.min()),
            sum(programs.seconds[name] for name in model.reads),
            taken / len(costs),
        )


def judged(
    models: Mapping[str, Model], layers: Sequence[Programs]
) -> Iterator[tuple[Programs, list[Judged]]]:
    """Each layer with each model, trained on the others; there are at least two layers."""
    for layer in layers:
        others = [other for other in layers if other is not layer]
        yield layer, [Judged.of(model, layer, others) for model in models.values()]


def gains(layers: Sequence[Programs]) -> list[tuple[str, float]]:
    """The features of choices by their part of what splits gain, of a model of all layers."""
    model = BoostedTrees(0)
    model.train([layer.measured(layer.features) for layer in layers])
    found = model.gains(len(FEATURE_NAMES))
    return [(FEATURE_NAMES[at], float(found[at])) for at in np.argsort(-found, kind="stable")]


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    asked = _parse(arguments)
    models = dict(MODELS)
    if asked.tree:
        if find_spec("torch") is None:
            print(
                "error: --tree needs PyTorch, which is not installed: "
                "pip install 'tandem-workbench[treernn]'",
                file=sys.stderr,
            )
            return 2
        models[TREE] = Model(("lowered", "trees"), _tree_rnn)
    machine = Accelerator(load_config(asked.config), parse_memory(asked.memory), hiding=True)
    tasks = tasks_of_layers([parse_layer(text) for text in asked.layer or LAYERS], machine, 0)
    known = known_records(asked.records, warn) if asked.records and asked.records.exists() else []
    heads = (
        *("programs", "pairs"),
        *(f"in order by\n{name}" for name in models),
        *(f"top {TOP} by\n{name}" for name in models),
    )
    table, times = plain_table(("layer",), heads), plain_table(("model",), ("reads, us", "us"))
    with LocalPool(cycles_of, asked.jobs) as pool:
        measurements = Measurements(machine, pool, asked.records, known)
        layers = [
            Programs(task, measured_layer(task, measurements, asked.choices).ranking)
            for task in tasks
        ]
    rows = []
    for layer, row in judged(models, layers):
        rows.append(row)
        table.add_row(
            layer.task.name,
            str(len(layer.ranking.rows)),
            f"{row[0].accuracy.pairs:,}",
            *(f"{one.accuracy.right:.1%}" for one in row),
            *(f"{one.top - 1:.2%}" for one in row),
        )
    by_model = list(zip(*rows, strict=True))
    table.add_row(
        *("mean", "", ""),
        *(f"{fmean(one.accuracy.right for one in of):.1%}" for of in by_model),
        *(f"{fmean(one.top for one in of) - 1:.2%}" for of in by_model),
    )
    for name, of in zip(models, by_model, strict=True):
        means = fmean(one.reading for one in of), fmean(one.answering for one in of)
        times.add_row(name, *map(_microseconds, means))
    for part in (table, times):
        print_table(plain_console(), part)
    for name, gain in gains(layers)[:SHOWN]:
        print(f"{gain:6.1%}  {name}")
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tandem.scripts.bench.program_models")
    parser.add_argument("--layer", action="append", help=f"two or more; default: {LAYERS}")
    parser.add_argument("--config", default="pynq-x")
    parser.add_argument("--memory", default=DEFAULT_MEMORY)
    parser.add_argument("--records", type=Path, metavar="FILE", help="kept measurements")
    parser.add_argument("--choices", type=int, default=CHOICES, help="measured for a layer")
    parser.add_argument("--tree", action="store_true", help="with the recurrent network")
    parser.add_argument("--jobs", type=int, default=default_jobs())
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
