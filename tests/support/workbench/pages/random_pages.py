"""Pages of runs, of tuning and of searches with figures drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan
from random import Random

from tandem.compiler.quantise.layer_errors import LayerError
from tandem.compiler.search import points
from tandem.compiler.search.objectives import Objective
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.hw.topology import TokenQueue
from tandem.runtime.artifact.stream import Layer
from tandem.runtime.layer_profiles import LayerProfile
from tandem.sim.why.causes import Cause
from tandem.sim.why.critical_path import Edge, EdgeKind
from tandem.workbench.accuracy import ClassAccuracy, LayerLosses
from tandem.workbench.clock import Clock
from tandem.workbench.labels import Hits
from tandem.workbench.pages.run import Area, AreaKind, CpuStep, Page
from tandem.workbench.pages.search.page import Marked, SearchPage
from tandem.workbench.pages.tuning.page import Point, Search, TaskReport, TuningPage
from tandem.workbench.round_trips import RoundTrip
from tandem.workbench.why import PathEdge, Why
from tests.support.compiler.search.search_points import point

NAMES = ("stem", "block <1>", "pool & sum", "größe", "head", "a_name_that_is_longer_than_most/conv")
OPERATORS = ("conv2d", "requantise", "max_pool", "relu", "add", "convert", "softmax")
MEMORIES = ("fast", "edge", "latency=30,interval=2,in_flight=8")
VERSIONS = (("tandem-workbench", "0.1.0"), ("numpy", "2.0"))


def _number(random: Random, digits: int = 7) -> int:
    """0 in one of four cases, and else with any number of digits."""
    return random.choice((0, *(random.randrange(1, 10 ** random.randint(1, digits)),) * 3))


def _some(random: Random, most: int) -> tuple[str, ...]:
    return tuple(random.sample(OPERATORS, random.randint(1, most)))


def _trip(random: Random) -> RoundTrip:
    after, before = random.sample(NAMES, 2)
    operators, sizes = _some(random, 3), (_number(random), _number(random))
    seconds = random.expovariate(100), random.choice((0.0, random.expovariate(1000)))
    return RoundTrip(after, before, operators, *sizes, *seconds)


def _profile(random: Random, layer: Layer, multipliers: int, timed: bool) -> LayerProfile:
    causes = {cause: _number(random, 5) for cause in Cause} if timed else {}
    if timed:
        causes[Cause.OTHER] += 1
    moved = _number(random), _number(random)
    cycles = sum(causes.values()) if timed else None
    return LayerProfile(layer, cycles, causes, *moved, random.randint(1, 99), multipliers)


def _why(random: Random, profile: LayerProfile) -> Why:
    edges, at = [], random.randint(0, 50)
    for number in range(random.randint(0, 12)):
        end = at + random.randint(1, 900)
        kind = random.choice([*EdgeKind])
        queue = random.choice([*TokenQueue]) if kind is EdgeKind.TOKEN else None
        edges.append(PathEdge(Edge(kind, at, end, number, queue), f"text <{number}>"))
        at = end
    return Why(profile, tuple(edges))


def _losses(random: Random, layers: Sequence[str]) -> LayerLosses:
    def decibels() -> float:
        return random.choice((inf, nan, *(random.uniform(-5, 60) for _ in range(4))))

    errors = tuple(
        LayerError(
            *(name, f"{name}_int8", name, _some(random, 3), decibels(), decibels()),
            *(random.choice((None, 0.5)), random.choice((0.0, random.random()))),
            only_rounds=random.random() < 0.2,
        )
        for name in layers
    )
    kind, batches = random.randrange(4), random.randint(1, 2000)
    return LayerLosses(errors, batches, states_scales=kind % 2 == 0, of_noise=kind < 2)


def _accuracy(random: Random) -> ClassAccuracy:
    def hits() -> Hits:
        samples = random.randint(1, 2000)
        first = random.randint(0, samples)
        return Hits(first, random.randint(first, samples), samples)

    kind = random.randrange(3)
    return ClassAccuracy(None if kind == 0 else hits(), None if kind == 1 else hits())


def run_page(seed: int) -> Page:
    """A run: with cycles or without, in one way or two, and with any of the other parts."""
    random = Random(f"page of a run {seed}")

    def perhaps(share: float = 0.5) -> bool:
        return random.random() < share

    config = load_config(random.choice(("tiny", "small8", "pynq")))
    timed = perhaps(0.8)
    layers = [
        Layer(name, _some(random, 3), _number(random, 9), _number(random, 6))
        for name in random.sample(NAMES, random.choice((0, 1, 2, 4, 5)))
    ]

    def profiles() -> tuple[LayerProfile, ...]:
        return tuple(_profile(random, layer, config.macs, timed) for layer in layers)

    profiled = profiles()
    steps = tuple(
        CpuStep(
            *(name, random.choice((0.0, random.expovariate(100))), _some(random, 2)),
            random.choice((None, "no template <here>", "layout of blocks")),
        )
        for name in random.sample(NAMES, random.randint(0 if layers else 1, 3))
    )
    areas = []
    for number in range(random.choice((0, 1, 4, 9))):
        begin = random.randrange(1 << random.randint(12, 24))
        size = _number(random, 6)
        areas.append(Area(f"area {number}", begin, size, random.choice([*AreaKind])))
    trips = tuple(_trip(random) for _ in range(random.choice((0, 0, 1, 3))))
    names = [layer.name for layer in layers]
    return Page(
        model=f"net <{seed}>",
        engine=random.choice(("cycle", "rtl")) if timed else "functional",
        config=config,
        memory=random.choice(MEMORIES),
        command="tandem run net.onnx --report page.html",
        layers=profiled,
        without=profiles() if layers and perhaps() else None,
        cpu_steps=steps,
        areas=tuple(areas),
        versions=VERSIONS,
        equal=random.choice((None, True, False)),
        batches=random.choice((1, 1, 3, 1200)),
        clock=Clock(random.uniform(20, 400), "as given") if perhaps() else None,
        reasons=tuple(_why(random, each) for each in profiled) if timed and perhaps() else (),
        losses=_losses(random, names) if names and perhaps() else None,
        accuracy=_accuracy(random) if perhaps(0.3) else None,
        round_trips=trips,
        warning=random.choice((None, None, "calibrated with <noise>")),
    )


def _task(random: Random, name: str) -> TaskReport:
    def cycles() -> float:
        return float(random.randint(900, 90_000))

    searches = []
    for explorer in random.sample(("xgboost", "random", "grid", "exact"), random.randint(1, 3)):
        lost = random.random() < 0.2
        costs = [random.choice((inf, cycles(), cycles())) for _ in range(random.randint(1, 9))]
        searches.append(Search(explorer, tuple(inf if lost else each for each in costs)))
    found = [each for search in searches for each in search.costs if each < inf]
    best = min(found, default=inf)
    choice = f"x={random.randint(1, 9)} y={random.randint(1, 9)}"
    points = tuple(
        Point(random.choice((inf, cycles())), random.choice((inf, cycles())), f"x={number}")
        for number in range(random.choice((0, 1, 6)))
    )
    return TaskReport(
        name=name,
        count=random.randint(1, 3),
        workload=f"conv2d {random.randint(1, 64)}x{random.randint(1, 64)}",
        trials=random.randint(1, 2000),
        default=random.choice((inf, best, cycles())),
        best=best,
        bound=random.choice((0.0, inf, best, 0.998 * best, 0.7 * best)),
        certified=random.random() < 0.4,
        size=random.randint(1, 10**6),
        measured=random.randint(0, 2000),
        pruned=random.randint(0, 10**5),
        choice=choice if best < inf else "",
        searches=tuple(searches),
        points=points,
    )


def tuning_page(seed: int) -> TuningPage:
    """Tasks of which some were not measured, certified, or bounded."""
    random = Random(f"page of tuning {seed}")
    names = random.sample(NAMES, random.randint(1, 4))
    return TuningPage(
        title=f"net <{seed}>",
        config=load_config(random.choice(("tiny", "small8", "pynq"))),
        memory=random.choice(MEMORIES),
        explorer=random.choice(("xgboost", "random")),
        tasks=tuple(_task(random, name) for name in names),
        default=random.choice((None, random.randint(1, 10**6), random.randint(1, 10**6))),
        best=random.choice((None, random.randint(1, 10**6), random.randint(1, 10**6))),
        seconds=random.choice((0.3, random.uniform(1, 20_000))),
        command="tandem tune net.onnx --report page.html",
        versions=VERSIONS,
    )


def search_page(seed: int) -> SearchPage:
    """Machines of which some cannot run, by one to three objectives."""
    random = Random(f"page of a search {seed}")
    objectives = tuple(random.sample([*Objective], random.randint(1, 3)))

    def machine(name: str = "mine") -> points.Point:
        return point(
            *(random.choice((0, *(random.randint(900, 90_000),) * 5)), random.uniform(100, 900)),
            *(name,),
            log_inp_buffer=random.randint(13, 15),
            log_wgt_buffer=random.randint(16, 18),
        )

    drawn = [machine() for _ in range(random.choice((1, 3, 9, 80)))]
    marked = random.sample(("pynq", "small.8"), random.randint(0, 2))
    memory = random.choice(MEMORIES)
    return SearchPage(
        models=tuple(random.sample(NAMES, random.randint(1, 2))),
        space="small",
        explorer=random.choice(("nsga2", "random")),
        memory=memory,
        memory_model=parse_memory(memory),
        objectives=objectives,
        points=points.with_front(drawn, objectives),
        marked=tuple(Marked(name, machine(name)) for name in marked),
        streams=random.randint(0, 99),
        seconds=random.uniform(0, 20_000),
        command="tandem search net.onnx --report page.html",
        versions=VERSIONS,
    )
