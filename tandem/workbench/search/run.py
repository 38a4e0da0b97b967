"""A whole search: machines, then what is done with those of the front."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tandem.base.cache import default_cache
from tandem.compiler.machines.accelerator.timed_streams import TIME_FIELDS, code_of
from tandem.compiler.search.estimates import Estimator
from tandem.compiler.search.explain import explain, indices_of, knee
from tandem.compiler.search.explanation import Explanation
from tandem.compiler.search.learned import Learned, OwnSamples
from tandem.compiler.search.points import Point, with_front
from tandem.compiler.search.proposals import Proposer
from tandem.compiler.search.results import open_results
from tandem.compiler.search.session import Search
from tandem.compiler.search.storage import Storage, alone, default_url
from tandem.compiler.search.study_name import study_name
from tandem.compiler.search.work import Times
from tandem.compiler.tune.records import Record
from tandem.workbench.measurers.on_cycle import cycles_of
from tandem.workbench.models import as_text
from tandem.workbench.pools.open_pool import open_pool
from tandem.workbench.search.export import export
from tandem.workbench.search.measure import Task, reference, task_digest, times_of
from tandem.workbench.search.options import Options
from tandem.workbench.search.stopwatch import Stopwatch
from tandem.workbench.search.synthesis import synthesised
from tandem.workbench.search.tuned import tune_machine

Say = Callable[[str], None]


@dataclass(frozen=True)
class Done:
    """What a search came to.

    Attributes
    ----------
    learned
        What models learned from beside the samples that come with Tandem.
    records
        Tuned records, by the position of their point.
    exported
        The folders that were written.
    beside
        The machines that are no part of the search.
    """

    points: tuple[Point, ...]
    baseline: Point
    seconds: float
    learned: Learned
    records: dict[int, tuple[Record, ...]] = field(default_factory=dict)
    explanation: Explanation | None = None
    exported: tuple[Path, ...] = ()
    beside: tuple[Point, ...] = ()

    @property
    def streams(self) -> int:
        """The number of distinct programs of all networks together."""
        return len({point.streams for point in self.points if point.streams})

    def as_json(self) -> dict[str, Any]:
        """The command's JSON."""
        found = {
            "points": [point.as_json() for point in self.points],
            "baseline": self.baseline.as_json(),
            "evaluated": len(self.points),
            "streams": self.streams,
            "seconds": self.seconds,
            "samples": self.learned.as_json(),
        }
        if self.explanation is not None:
            found["explain"] = self.explanation.as_json()
        if self.exported:
            found["exported"] = [str(folder) for folder in self.exported]
        return found


def run(options: Options, say: Say) -> Done:
    """Search, then tune, synthesise, explain, export and report, as far as was asked for.

    Raises
    ------
    SearchError, SpaceError, SchedulerError
        The storage or the cluster cannot be used, or no machine is possible.
    CompilerError
        A network cannot be compiled.
    """
    watch = Stopwatch()
    if options.around is not None:
        indices_of(options.space, options.around)
    with ExitStack() as closing:
        say("preparing the networks")
        found = [reference(network, options.memory) for network in options.networks]
        layers, streams = zip(*found, strict=True)
        task = Task(options.networks, options.memory, layers, streams)
        folder = default_cache() / "search"
        estimator = Estimator(options.space.limits, options.mhz)
        pool = open_pool(times_of, options.jobs, options.scheduler, Times.refused)
        search = Search(
            task,
            options.objectives,
            options.weights,
            Proposer(
                options.space,
                options.explorer,
                options.seed,
                len(options.objectives),
                estimator.allowed,
                TIME_FIELDS,
            ),
            estimator,
            closing.enter_context(pool),
            closing.enter_context(open_results(folder, task_digest(task))),
            code_of,
        )
        url = options.storage or default_url(folder)
        name = study_name(search, " ".join(as_text(network.model) for network in task.networks))
        closing.enter_context(alone(folder / "running", url, name))
        storage = Storage.open(url, name, options.space, options.objectives)
        own = OwnSamples(search.results.connection)
        learned = Learned.of(storage.samples(own.lines()))
        search = search.with_samples(learned)
        ((_, measured),) = search.measure([options.baseline])
        baseline = search.point(options.baseline, measured)

        points = search.run(
            storage,
            options.budget.points,
            lambda: watch.reached(options.budget.seconds),
            lambda machines, programs: say(f"{machines:,} machines, {programs:,} programs"),
        )
        points = with_front(points, options.objectives)
        points = _synthesised(search, options, points, own, say)
        points, records = _tuned(options, task, points, say)
        done = Done(points, baseline, watch.seconds, learned, records)
        if options.explain:
            say("explaining")
            center = options.around or knee(points, options.objectives).config
            done = replace(done, explanation=explain(search, center))
        if options.export is not None:
            say("exporting")
            done = replace(done, exported=export(options.export, points, records))
        if options.beside:
            say("measuring machines beside them")
            done = replace(done, beside=tuple(search.measured_points(options.beside)))
        return done


def spread(count: int, of: Sequence[int]) -> list[int]:
    """Some of a sequence, evenly spread, the first and the last among them."""
    if count >= len(of):
        return [*of]
    if count == 1:
        return [of[0]]
    return [of[round(at * (len(of) - 1) / (count - 1))] for at in range(count)]


def _front(points: Sequence[Point], options: Options) -> list[int]:
    """The positions of the front's points, best first by the first objective."""
    front = [at for at, point in enumerate(points) if point.front]

    def values(at: int) -> tuple[float, ...]:
        costs = points[at].costs
        assert costs is not None, "on the front"
        return costs.values(options.objectives)

    return sorted(front, key=values)


def _synthesised(
    search: Search, options: Options, points: tuple[Point, ...], own: OwnSamples, say: Say
) -> tuple[Point, ...]:
    if not options.synthesise:
        return points
    found = [*points]
    device = options.space.limits.device
    for number, at in enumerate(spread(options.synthesise, _front(points, options)), 1):
        point = points[at]

        def show(step: str, number: int = number) -> None:
            say(f"machine {number} of the front: {step}")

        done = synthesised(point.config, point.estimate, device, show)
        own.add(done.samples)
        found[at] = search.point(point.config, point.measured, done.estimate)
    return with_front(found, options.objectives)


def _tuned(
    options: Options, task: Task, points: tuple[Point, ...], say: Say
) -> tuple[tuple[Point, ...], dict[int, tuple[Record, ...]]]:
    records: dict[int, tuple[Record, ...]] = {}
    if not options.tune:
        return points, records
    found = [*points]
    front = _front(points, options)
    with open_pool(cycles_of, options.jobs, options.scheduler) as pool:
        for number, at in enumerate(front, 1):
            point = points[at]

            def show(step: str, number: int = number) -> None:
                say(f"machine {number} of {len(front)}: {step}")

            tuned = tune_machine(
                point.config,
                task,
                point.measured.cycles,
                options.tune,
                options.seed,
                pool,
                show,
            )
            total = sum(
                weight * cycles
                for weight, cycles in zip(options.weights, tuned.cycles, strict=True)
            )
            found[at] = replace(point, tuned_cycles=round(total))
            records[at] = tuned.records
    return tuple(found), records
