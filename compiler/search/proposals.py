"""Which machines to measure next, by Optuna's samplers.

A batch is a function of the seed, its number and what was measured in earlier batches: neither the
number of workers nor an interruption changes it. Optuna's study is therefore made anew for each
batch, from the finished points.

A batch has several machines of equal programs: for each that the sampler proposes, some that differ
from it only in what changes time alone, which they have of the sampler's other proposals. Their
stream is compiled once; while there are machines of other programs, no program comes a second time.
The first batch, which is drawn at random, has more programs with fewer machines each: a sampler
learns more from another program than from another queue.
"""

from __future__ import annotations

import hashlib
import random
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import optuna
from optuna.samplers import BaseSampler, NSGAIISampler, RandomSampler, TPESampler
from optuna.trial import create_trial

from tandem.compiler.errors import SpaceError
from tandem.compiler.search.explorer_names import Explorer
from tandem.compiler.search.mutation import NeighbourMutation
from tandem.compiler.search.space import Space
from tandem.hw.config import HardwareConfig
from tandem.hw.errors import ConfigError

BATCH = 96
"""Machines in a batch."""
FIRST_MACHINES = 2
"""Machines of equal programs in the first batch."""
MACHINES = 6
"""Machines of equal programs in a later batch."""
POPULATION = 24
"""Machines that NSGA-II keeps as parents: hardly more than the first batch's front has."""
MUTATIONS = 3
"""Dimensions in which NSGA-II mutates a machine, on average."""
_ATTEMPTS = 200
"""Impossible or known machines in a row, after which a batch is as large as it is."""
_GENERATION = "NSGAIISampler:generation"

Allowed = Callable[[HardwareConfig], bool]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A machine to measure.

    Attributes
    ----------
    indices
        The number of its value in each dimension of the space.
    generation
        NSGA-II's; 0 with other samplers.
    """

    indices: tuple[int, ...]
    generation: int


@dataclass(frozen=True, slots=True)
class Finished:
    """A machine that was measured; `values` are None if it cannot run the networks."""

    proposal: Proposal
    values: tuple[float, ...] | None


@dataclass(frozen=True)
class Proposer:
    """Proposes the machines of a space.

    Attributes
    ----------
    allowed
        Whether a machine is within the limits.
    objectives
        The number of objectives.
    time_fields
        Fields of the configuration that programs do not depend on, only their time.
    """

    space: Space
    explorer: Explorer
    seed: int
    objectives: int
    allowed: Allowed
    time_fields: Collection[str]

    def batch(self, number: int, finished: Sequence[Finished]) -> tuple[Proposal, ...]:
        """The machines of a batch; none when no more can be found.

        Raises
        ------
        SpaceError
            The first batch is empty: no machine of the space is possible and within the limits.
        """
        digest = hashlib.sha256(f"{self.seed} {number}".encode()).digest()
        seed = int.from_bytes(digest[:4], "little")
        machines = MACHINES if number else FIRST_MACHINES
        known = {one.proposal.indices for one in finished}
        drawn: list[tuple[int, ...]] = []
        chosen = self._chosen(self._asked(seed, finished), machines, known, drawn)
        known |= {one.indices for one in chosen}
        chance = random.Random(seed)
        found: list[Proposal] = []
        for one in chosen:
            alike = self._alike(one.indices, machines - 1, drawn, known, chance)
            known |= {*alike}
            found += (Proposal(indices, one.generation) for indices in (one.indices, *alike))
        if not found and number == 0:
            raise SpaceError(
                f"space {self.space.name}: of {_ATTEMPTS} machines drawn from it none is possible "
                f"and within the limits"
            )
        return tuple(found)

    def _chosen(
        self,
        asked: Iterator[Proposal],
        machines: int,
        known: Set[tuple[int, ...]],
        drawn: list[tuple[int, ...]],
    ) -> list[Proposal]:
        """Those of the proposals to which machines of equal programs are added, until there are
        `machines` of each; every proposal is appended to `drawn`."""
        most = BATCH // machines if any(self._time_only) else BATCH
        programs = {self._program(indices) for indices in known}
        found: dict[tuple[int, ...], Proposal] = {}
        missed, repeats = 0, False
        while len(found) < most and missed < _ATTEMPTS:
            one = next(asked)
            drawn.append(one.indices)
            if (
                one.indices not in known
                and one.indices not in found
                and (repeats or self._program(one.indices) not in programs)
                and self._possible(one.indices)
            ):
                found[one.indices] = one
                programs.add(self._program(one.indices))
                missed = 0
                continue
            missed += 1
            if missed == _ATTEMPTS and not repeats:
                # New machines of known programs will do.
                missed, repeats = 0, True
        return [*found.values()]

    def _asked(self, seed: int, finished: Sequence[Finished]) -> Iterator[Proposal]:
        """What the sampler proposes, without an end."""
        study = optuna.create_study(
            directions=["minimize"] * self.objectives,
            sampler=_sampler(self.explorer, seed, len(self.space.dimensions)),
        )
        names = [dimension.name for dimension in self.space.dimensions]
        distributions: dict[str, optuna.distributions.BaseDistribution] = {
            dimension.name: optuna.distributions.IntDistribution(0, len(dimension.values) - 1)
            for dimension in self.space.dimensions
        }
        study.add_trials(
            create_trial(
                params=dict(zip(names, one.proposal.indices, strict=True)),
                distributions=distributions,
                values=one.values,
                system_attrs={_GENERATION: one.proposal.generation},
            )
            for one in finished
            if one.values is not None
        )
        while True:
            trial = study.ask(distributions)
            attributes = study.get_trials(deepcopy=False)[trial.number].system_attrs
            generation = int(attributes.get(_GENERATION, 0))
            # It stays unfinished: TPE keeps away from such, and NSGA-II ignores them.
            yield Proposal(tuple(int(trial.params[name]) for name in names), generation)

    def _alike(
        self,
        indices: tuple[int, ...],
        most: int,
        drawn: Sequence[tuple[int, ...]],
        known: Set[tuple[int, ...]],
        chance: random.Random,
    ) -> list[tuple[int, ...]]:
        """Machines of equal programs that are possible, allowed and not known.

        In each dimension that changes time alone they have what one of those `drawn` has.
        """
        found: list[tuple[int, ...]] = []
        for _ in range(_ATTEMPTS):
            if len(found) == most or not any(self._time_only):
                break
            one = tuple(
                chance.choice(drawn)[at] if time_only else index
                for at, (index, time_only) in enumerate(zip(indices, self._time_only, strict=True))
            )
            if one not in known and one not in found and self._possible(one):
                found.append(one)
        return found

    @cached_property
    def _time_only(self) -> tuple[bool, ...]:
        """For each dimension, whether programs do not depend on it."""
        return tuple(
            all(field in self.time_fields for field in dimension.fields)
            for dimension in self.space.dimensions
        )

    def _program(self, indices: tuple[int, ...]) -> tuple[int, ...]:
        """The numbers that a machine's programs depend on."""
        return tuple(
            index
            for index, time_only in zip(indices, self._time_only, strict=True)
            if not time_only
        )

    def _possible(self, indices: tuple[int, ...]) -> bool:
        try:
            machine = self.space.machine(indices)
        except ConfigError:
            return False
        return self.allowed(machine)


def _sampler(explorer: Explorer, seed: int, dimensions: int) -> BaseSampler:
    with warnings.catch_warnings():
        # NSGA-II's mutation and two options of TPE are new, and Optuna says so.
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        match explorer:
            case Explorer.NSGA2:
                return NSGAIISampler(
                    population_size=POPULATION,
                    mutation=NeighbourMutation(),
                    mutation_prob=min(1.0, MUTATIONS / dimensions),
                    seed=seed,
                )
            case Explorer.TPE:
                return TPESampler(
                    seed=seed, n_startup_trials=BATCH, multivariate=True, constant_liar=True
                )
            case Explorer.RANDOM:
                return RandomSampler(seed=seed)
