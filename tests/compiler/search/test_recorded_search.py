"""What a search proposes, estimates and says of damaged spaces stays what it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from random import Random

from tandem.compiler.errors import CompilerError
from tandem.compiler.machines.accelerator.timed_streams import TIME_FIELDS
from tandem.compiler.search.bounds import bounded_by, layer_bounds, utilization
from tandem.compiler.search.estimates import Estimator
from tandem.compiler.search.explorer_names import Explorer
from tandem.compiler.search.front import dominates, hypervolume, pareto_front
from tandem.compiler.search.objectives import Objective, costs_of
from tandem.compiler.search.proposals import Finished, Proposer
from tandem.compiler.search.space import Space, load_space, parse_space, space_names
from tandem.compiler.search.work import LayerWork, StreamWork
from tandem.hw.config_files import dump_config
from tandem.hw.errors import HardwareError
from tandem.hw.memory_model import MemoryModel
from tests.support.damaged_json import damage_json

MACHINES = 8
DAMAGED = 150


def _work(rng: Random) -> StreamWork:
    numbers = [[rng.choice((0, 1, 300, 70_000, 2_000_000)) for _ in range(5)] for _ in range(3)]
    return StreamWork("w", tuple(LayerWork(f"l{at}", *each) for at, each in enumerate(numbers)))


def _machines(space: Space) -> str:
    """Random machines of a space: estimates, limits, costs, bounds."""
    rng = Random(space.name)
    lines = [json.dumps(space.as_json())]
    estimator = Estimator(space.limits)
    for number in range(MACHINES):
        indices = [rng.randrange(len(each.values)) for each in space.dimensions]
        try:
            config = space.machine(indices)
        except HardwareError as error:
            lines.append(f"{indices}: {error}")
            continue
        estimate = estimator.estimate(config)
        resources = dict(estimate.resources or {})
        lines.append(f"{indices} {space.indices(config)} {dump_config(config)}")
        lines.append(f"{estimate.area:.6g} {estimate.mhz:.6g} {estimate.clock_source} {resources}")
        lines.append(f"allowed {estimator.allowed(config)}")
        work, memory = [_work(rng), _work(rng)], MemoryModel(16, 1 + number % 3, 16)
        cycles = [rng.randint(10**6, 10**7) for _ in work]
        costs = costs_of(config, cycles, work, (1.0, 2.5), estimate.area, estimate.mhz)
        lines.append(" ".join(f"{each:.6g}" for each in costs.values([*Objective])))
        for layer in work[0].layers:
            known = layer_bounds(layer, config, memory)
            bounds = {bound.value: cycles_of for bound, cycles_of in known.items()}
            lines.append(f"{bounds} {bounded_by(layer, config, memory).value}")
        lines.append(f"{utilization(config, work[0], cycles[0]):.6g} {work[0].dram_bytes}")
    return "\n".join(lines)


def test_machines(recorded: Callable[[str, Mapping[str, str]], None]) -> None:
    found = {name: _machines(load_space(name)) for name in space_names()}
    recorded("recorded/search/machines.txt", found)


def _figures(space: Space, indices: Sequence[int]) -> tuple[float, float] | None:
    """Two objectives that are at odds; some machines cannot run."""
    config = space.machine(indices)
    if config.log_inp_buffer == 9:
        return None
    return 1e6 / config.macs + 1e5 / config.bus_bits, float(config.macs + config.load_buffer)


def _proposed(explorer: Explorer, seed: int) -> str:
    """Batches, each proposed with what was measured of those before."""
    space = load_space("small")
    estimator = Estimator(space.limits)
    proposer = Proposer(space, explorer, seed, 2, estimator.allowed, TIME_FIELDS)
    history: list[Finished] = []
    lines = []
    for number in range(3):
        for one in proposer.batch(number, history):
            lines.append(f"{one.generation} {one.indices}")
            history.append(Finished(one, _figures(space, one.indices)))
    points = [each.values for each in history if each.values is not None]
    front = pareto_front(points)
    lines.append(f"front {front} {hypervolume([points[at] for at in front], (2e5, 2e5)):.9g}")
    lines.append(str([dominates(points[0], each) for each in points]))
    return "\n".join(lines)


def test_proposals(recorded: Callable[[str, Mapping[str, str]], None]) -> None:
    """Of the explorers that do not model what they know."""
    kinds = (Explorer.RANDOM, Explorer.NSGA2)
    found = {f"{kind.value} {seed}": _proposed(kind, seed) for kind in kinds for seed in (0, 1)}
    recorded("recorded/search/proposals.txt", found)


def test_damaged_spaces(recorded: Callable[[str, Sequence[str]], None]) -> None:
    found = []
    for seed in range(DAMAGED):
        rng = Random(f"space {seed}")
        value = load_space(rng.choice(space_names())).as_json()
        said = damage_json(rng, value)
        try:
            space = parse_space(json.dumps(value), "mine")
            read = f"{space.size} machines {json.dumps(space.as_json())}"
        except (CompilerError, HardwareError) as error:
            read = f"{type(error).__name__}: {error}"
        found.append(f"{said}\n{read}")
    recorded("recorded/search/damaged_spaces.txt", found)
