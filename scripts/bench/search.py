"""Explorers of machines compared: the volume that their fronts dominate, over several seeds.

`python -m tandem.scripts.bench.search --help`; other options are those of `tandem search`. Results
of machines are shared, so that a machine that two searches come to is measured once.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tandem.compiler.search.explorer_names import Explorer
from tandem.compiler.search.front import Values, hypervolume, pareto_front

MARGIN = 1.1
"""How far the corner lies beyond the worst machine of all searches."""


def main() -> None:
    """Run every explorer with every seed, and print a table of their volumes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--space", default="asic")
    parser.add_argument("--budget", default="480")
    parser.add_argument("--objectives", default="cycles,area")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--storage", type=Path, default=Path("build/search.db"))
    asked, others = parser.parse_known_args()
    asked.storage.parent.mkdir(parents=True, exist_ok=True)
    names = asked.objectives.split(",")
    found: dict[tuple[str, int], list[Values]] = {}
    for seed in range(asked.seeds):
        for explorer in Explorer:
            options = ["--space", asked.space, "--budget", asked.budget, "--seed", str(seed)]
            options += ["--objectives", asked.objectives, "--explorer", explorer.value]
            options += ["--storage", f"sqlite:///{asked.storage}", *others, "--json"]
            found[explorer.value, seed] = values(searched(asked.model, options), names)
    table = volumes(found)
    print(f"{'seed':>4} " + " ".join(f"{explorer.value:>8}" for explorer in Explorer))
    for seed in range(asked.seeds):
        row = [table[explorer.value, seed] for explorer in Explorer]
        print(f"{seed:>4} " + " ".join(f"{volume:>8.4f}" for volume in row), flush=True)
    worse = [
        seed
        for seed in range(asked.seeds)
        if table[Explorer.NSGA2.value, seed] < table[Explorer.RANDOM.value, seed]
    ]
    if worse:
        sys.exit(f"error: nsga2 is behind random search with the seeds {worse}")


def searched(model: str, options: list[str]) -> dict[str, Any]:
    """The JSON of a search in a process of its own."""
    command = [sys.executable, "-m", "tandem.scripts.cli", "search", model, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def values(found: dict[str, Any], names: list[str]) -> list[Values]:
    """The objectives of the machines that can run the networks."""
    return [
        tuple(float(point[name]) for name in names)
        for point in found["points"]
        if point["cycles"] is not None
    ]


def volumes(found: dict[tuple[str, int], list[Values]]) -> dict[tuple[str, int], float]:
    """The volume of each search, as a part of what all of them dominate together."""
    every = [point for points in found.values() for point in points]
    corner = tuple(MARGIN * max(column) for column in zip(*every, strict=True))

    def volume(points: list[Values]) -> float:
        return hypervolume([points[at] for at in pareto_front(points)], corner)

    whole = volume(every)
    return {key: volume(points) / whole for key, points in found.items()}


if __name__ == "__main__":
    main()
