"""How good schedules are: `python -m tandem.scripts.bench.schedules --records FOLDER`.

For each convolution of ResNet-18, on each machine with each memory: the default choice's cycles,
those of the best choice of the base space, with the certificate of the exact explorer, and those of
the best choice of the wide space, searched in the order of the estimate. Trials are kept in a file
for each machine and memory, so that a second run measures nothing that is known.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time

from tandem.compiler.tune.records import Record
from tandem.compiler.tune.run import Options, tune
from tandem.compiler.tune.tuner import Certificate
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.scripts.records import warn
from tandem.workbench.devices import Accelerator
from tandem.workbench.measurers.on_cycle import cycles_of
from tandem.workbench.pools.local_pool import LocalPool
from tandem.workbench.recorded_choices import known_records
from tandem.workbench.utilization.conv_layers import parse_layer
from tandem.workbench.utilization.tasks import tasks_of_layers

MACHINES = ("pynq", "pynq-x")
MEMORIES = ("fast", "edge")
LAYERS = tuple(f"C{number}" for number in range(1, 12))
NETWORK = LAYERS[1:]
"""The layers of the weighted totals: `tandem utilization` measures them, too."""
TRIALS = 100
HEADS = "layer", "default", "base", "bound", "gap", "measured", "pruned", "CPU s", "wide"


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of a layer on one machine with one memory; cycles.

    Attributes
    ----------
    count
        How often the layer occurs in ResNet-18.
    base
        The certificate of the base space.
    seconds
        The CPU time of certifying, without what records knew.
    wide
        The best of both spaces.
    """

    layer: str
    count: int
    default: int
    base: Certificate
    seconds: float
    wide: int

    @property
    def bounds(self) -> tuple[float, float]:
        """The best choice of the base space, and its bound."""
        return self.base.best, self.base.bound

    def __str__(self) -> str:
        certificate = self.base
        cells = (
            self.layer,
            f"{self.default:,}",
            f"{certificate.best:,.0f}",
            f"{certificate.bound:,.0f}" + ("" if certificate.certified else " (open)"),
            f"{certificate.gap:.2%}",
            f"{certificate.measured:,}",
            f"{certificate.pruned:,}",
            f"{self.seconds:.0f}",
            f"{self.wide:,}",
        )
        return f"| {' | '.join(cells)} |"


def rows(
    layers: Sequence[str], accelerator: Accelerator, file: Path, seconds: float, trials: int
) -> Iterator[Row]:
    """Certify and search each layer, with one process.

    Parameters
    ----------
    seconds
        Time for the certificate of a layer.
    trials
        Choices of the wide space that are measured for each layer.
    """
    known: list[Record] = known_records(file, warn) if file.exists() else []
    with LocalPool(cycles_of, 1) as pool:
        for task in tasks_of_layers([parse_layer(layer) for layer in layers], accelerator, 0):
            begun, found = process_time(), []
            for options in (
                Options("exact", None, seconds, 0),
                Options("estimate", trials, None, 0, wide=True),
            ):
                found += tune([task], accelerator, options, known, file, lambda _: None, pool)
                if len(found) == 1:
                    spent = process_time() - begun
            base, wide = found
            yield Row(
                layer=task.name,
                count=task.count,
                default=round(base.default.cost),
                base=base.certificate,
                seconds=spent,
                wide=round(min(base.certificate.best, wide.certificate.best)),
            )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m tandem.scripts.bench.schedules")
    parser.add_argument("--records", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--config", nargs="+", default=MACHINES)
    parser.add_argument("--memory", nargs="+", default=MEMORIES)
    parser.add_argument("--layer", nargs="+", default=LAYERS)
    parser.add_argument("--seconds", type=float, default=300, help="for each layer's certificate")
    parser.add_argument("--trials", type=int, default=TRIALS, help="in each wide space")
    asked = parser.parse_args(arguments)
    for config in asked.config:
        for memory in asked.memory:
            accelerator = Accelerator(load_config(config), parse_memory(memory), hiding=True)
            file = asked.records / f"{config}-{memory}.jsonl"
            print(f"\n`{config}`, `{memory}`:\n")
            print(f"| {' | '.join(HEADS)} |\n|---{'|--:' * (len(HEADS) - 1)}|")
            found = []
            for row in rows(asked.layer, accelerator, file, asked.seconds, asked.trials):
                print(row, flush=True)
                found.append(row)
            weighted = [row for row in found if row.layer in NETWORK]
            sums = [
                [row.count * cycles for cycles in (row.default, *row.bounds, row.wide)]
                for row in weighted
            ]
            totals = map(sum, zip(*sums, strict=True))
            if not weighted:
                continue
            default, base, bound, wide = (f"{round(total):,}" for total in totals)
            print(f"| total | {default} | {base} | {bound} |  |  |  |  | {wide} |", flush=True)


if __name__ == "__main__":
    main()
