"""Which choices are kept at the end of tuning on a processor: those that win once more.

The lowest of many noisy times is of luck in part, and a layer alone is not the network. So the best
choice of each layer runs alternately with the default choice, and keeps its place if it is faster
by more than the noise; then the network with all that were kept runs alternately with the network
of defaults, and those that gained least are dropped until it is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from msgspec import UNSET, structs

from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.best_known import best_record
from tandem.compiler.tune.paired import PairedGain, paired_gain
from tandem.compiler.tune.plain import canonical_text
from tandem.compiler.tune.recorded import Identity, by_identity
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.session import TaskTuning
from tandem.compiler.tune.tasks import Task
from tandem.compiler.tune.trial import Status

MARGIN = 0.01
"""The gain of a layer below which a choice is not worth to differ from the default."""

LayerTimes: TypeAlias = Callable[[Task, Choice], tuple[Sequence[float], Sequence[float]]]
"""Times of a task with the default choice and with another one, taken alternately."""
NetworkTimes: TypeAlias = Callable[[Sequence[Record]], tuple[Sequence[float], Sequence[float]]]
"""Times of the network with defaults and with the choices of records, taken alternately."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The choice of a task that is kept.

    Attributes
    ----------
    record
        Of the choice, with `Record.default_cost`; None if nothing was measured.
    fresh
        Whether the record is new, and to be saved.
    """

    task: Task
    record: Record | None
    fresh: bool

    @property
    def kept(self) -> bool:
        """Whether another choice than the default is kept."""
        record = self.record
        return record is not None and not _equal(record.choice, self.task.default)

    @property
    def choice(self) -> Choice | None:
        """The choice; None if nothing was measured."""
        return None if self.record is None else dict(self.record.choice)

    @property
    def costs(self) -> tuple[float, float] | None:
        """The cost of the default, and of the choice; None if nothing was measured."""
        record = self.record
        if record is None or record.default_cost is UNSET:
            return None
        return record.default_cost, record.outcome.cost

    @property
    def gain(self) -> float:
        """What the choice saves in the network, in the unit of costs."""
        if self.costs is None:
            return 0.0
        default, cost = self.costs
        return self.task.count * (default - cost)

    def dropped(self) -> Decision:
        """The decision for the default instead."""
        record = self.record
        assert record is not None, "a choice is kept"
        assert record.default_cost is not UNSET, "it won"
        back = structs.replace(record, choice=dict(self.task.default), cost=record.default_cost)
        return replace(self, record=back, fresh=True)


@dataclass(frozen=True, slots=True)
class Decisions:
    """The choices that are kept, and what they bring the network.

    Attributes
    ----------
    network
        None if nothing is new, or nothing is kept that could be compared.
    """

    tasks: tuple[Decision, ...]
    network: PairedGain | None

    @property
    def fresh(self) -> list[Record]:
        """The new records."""
        return [one.record for one in self.tasks if one.fresh and one.record is not None]


def costs_of(done: TaskTuning, decision: Decision | None) -> tuple[float, float]:
    """The costs of a task's default choice and of its best one, or of the one that is kept."""
    decided = None if decision is None else decision.costs
    return decided or (done.default.cost, done.certificate.best)


def decide(
    done: Sequence[TaskTuning],
    identity: Callable[[Task], Identity],
    known: Sequence[Record],
    new: Sequence[Record],
    layer_times: LayerTimes,
    network_times: NetworkTimes,
) -> Decisions:
    """Decide between default and best choices.

    A task without a new trial whose choice was decided before is not compared again.

    Parameters
    ----------
    known, new
        All records, and those of them that this run made.
    """
    tasks = list(decide_tasks(done, identity, known, new, layer_times).tasks)
    network = None
    new_choices = any(one.fresh and one.kept for one in tasks)
    while new_choices and any(one.kept for one in tasks):
        records = [one.record for one in tasks if one.record is not None]
        network = paired_gain(*network_times(records))
        if network.wins():
            break
        kept = sorted((one for one in tasks if one.kept), key=lambda one: one.gain)
        losers = kept[: -(-len(kept) // 2)]
        tasks = [one.dropped() if one in losers else one for one in tasks]
        network = None
    return Decisions(tuple(tasks), network)


def decide_tasks(
    done: Sequence[TaskTuning],
    identity: Callable[[Task], Identity],
    known: Sequence[Record],
    new: Sequence[Record],
    layer_times: LayerTimes,
) -> Decisions:
    """Decide for each task alone, without a network; parameters are those of `decide`."""
    own, fresh = by_identity(known), by_identity(new)
    tasks = []
    for one in done:
        key = identity(one.task).key()
        tasks.append(_decided(one, own.get(key, []), key in fresh, layer_times))
    return Decisions(tuple(tasks), None)


def _decided(
    done: TaskTuning, own: Sequence[Record], has_new: bool, layer_times: LayerTimes
) -> Decision:
    """The decision for a task with its records."""
    own = [record for record in own if done.task.knows(record.choice)]
    before = best_record(own)
    if before is None or (before.default_cost is not UNSET and not has_new):
        return Decision(done.task, before, fresh=False)
    trials = [record for record in own if record.default_cost is UNSET]
    best = best_record(trials)
    default = next((one for one in trials if _equal(one.choice, done.task.default)), None)
    assert default is not None, "the default choice is measured first"
    assert best is not None, "something was measured"
    if default.status is not Status.MEASURED:
        # Nothing to compare with: the default choice cannot be run.
        return Decision(done.task, best, fresh=False)
    if _equal(best.choice, done.task.default):
        return Decision(done.task, _won(best, best.outcome.cost, best.outcome.cost), fresh=True)
    gain = paired_gain(*layer_times(done.task, best.choice))
    if gain.wins(MARGIN):
        return Decision(done.task, _won(best, gain.challenger, gain.default), fresh=True)
    return Decision(done.task, _won(default, gain.default, gain.default), fresh=True)


def _won(record: Record, cost: float, default_cost: float) -> Record:
    return structs.replace(record, cost=cost, limit=None, default_cost=default_cost)


def _equal(choice: Choice, other: Choice) -> bool:
    return canonical_text(dict(choice)) == canonical_text(dict(other))
