"""Which machines to measure next, by Optuna's samplers.

A batch is a function of the seed, its number and what was measured in earlier batches: neither the
number of workers nor an interruption changes it. Optuna's study is therefore made anew for each
batch, from the finished points.

A batch has several machines of equal programs: for each that the sampler proposes, some that differ
from it only in what changes time alone, drawn at random. Their stream is compiled once.
"""

from __future__ import annotations

import hashlib
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import optuna
from optuna.samplers import BaseSampler, NSGAIISampler, RandomSampler, TPESampler
from optuna.trial import create_trial

from compiler.driver.streams import TIME_FIELDS
from hw.config import HardwareConfig
from hw.errors import ConfigError
from scripts.errors import SpaceError
from scripts.search.explorer_names import Explorer
from scripts.search.space import Space

STREAMS = 16
"""Machines of different programs in a batch."""
MACHINES = 6
"""Machines of equal programs in a batch."""
POPULATION = 48
"""Machines that NSGA-II keeps as parents."""
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
    """

    space: Space
    explorer: Explorer
    seed: int
    objectives: int
    allowed: Allowed

    def batch(self, number: int, finished: Sequence[Finished]) -> tuple[Proposal, ...]:
        """The machines of a batch; none when no more can be found.

        Raises
        ------
        SpaceError
            The first batch is empty: no machine of the space is possible and within the limits.
        """
        digest = hashlib.sha256(f"{self.seed} {number}".encode()).digest()
        seed = int.from_bytes(digest[:4], "little")
        chance = random.Random(seed)
        known = {one.proposal.indices for one in finished}
        found: list[Proposal] = []
        missed = 0
        for asked in self._asked(seed, finished):
            if asked.indices in known or not self._possible(asked.indices):
                missed += 1
                if missed == _ATTEMPTS:
                    break
                continue
            missed = 0
            alike = [asked.indices, *self._alike(asked.indices, known, chance)]
            known |= {*alike}
            found += (Proposal(indices, asked.generation) for indices in alike)
            if len(found) >= STREAMS * MACHINES:
                break
        if not found and number == 0:
            raise SpaceError(
                f"space {self.space.name}: of {_ATTEMPTS} machines drawn from it none is possible "
                f"and within the limits"
            )
        return tuple(found)

    def _asked(self, seed: int, finished: Sequence[Finished]) -> Iterator[Proposal]:
        """What the sampler proposes, without an end."""
        study = optuna.create_study(
            directions=["minimize"] * self.objectives, sampler=_sampler(self.explorer, seed)
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
        self, indices: tuple[int, ...], known: set[tuple[int, ...]], chance: random.Random
    ) -> list[tuple[int, ...]]:
        """Machines of equal programs that are possible, allowed and not known."""
        free = [
            at
            for at, dimension in enumerate(self.space.dimensions)
            if all(field in TIME_FIELDS for field in dimension.fields)
        ]
        found: list[tuple[int, ...]] = []
        for _ in range(_ATTEMPTS):
            if not free or len(found) == MACHINES - 1:
                break
            other = list(indices)
            for at in free:
                other[at] = chance.randrange(len(self.space.dimensions[at].values))
            one = tuple(other)
            if one != indices and one not in known and one not in found and self._possible(one):
                found.append(one)
        return found

    def _possible(self, indices: tuple[int, ...]) -> bool:
        try:
            machine = self.space.machine(indices)
        except ConfigError:
            return False
        return self.allowed(machine)


def _sampler(explorer: Explorer, seed: int) -> BaseSampler:
    match explorer:
        case Explorer.NSGA2:
            return NSGAIISampler(population_size=POPULATION, seed=seed)
        case Explorer.TPE:
            with warnings.catch_warnings():
                # These two options are new, and Optuna says so.
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                return TPESampler(
                    seed=seed,
                    n_startup_trials=STREAMS * MACHINES,
                    multivariate=True,
                    constant_liar=True,
                )
        case Explorer.RANDOM:
            return RandomSampler(seed=seed)
