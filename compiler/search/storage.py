"""The finished machines of a search, as a study of Optuna's in a database.

A machine is one finished trial, written in one transaction; its batch and its place in it say which
machines are missing when a search that was interrupted is resumed. Optuna's own tools read it.
"""

from __future__ import annotations

import fcntl
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.storages import RDBStorage
from optuna.trial import TrialState, create_trial
from sqlalchemy.event import listen
from sqlalchemy.exc import SQLAlchemyError

from tandem.base.cache import content_key
from tandem.compiler.errors import SearchError
from tandem.compiler.search.objectives import Objective
from tandem.compiler.search.proposals import Finished, Proposal
from tandem.compiler.search.results import Measured, keep_a_log
from tandem.compiler.search.space import Space

_SAMPLES = "tandem samples"
Place = tuple[int, int]
"""A batch and a place in it."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A finished machine as it was stored."""

    finished: Finished
    measured: Measured


@dataclass(frozen=True)
class Storage:
    """A study in a database, and the space of its machines."""

    study: optuna.Study
    space: Space

    @staticmethod
    def open(url: str, name: str, space: Space, objectives: Sequence[Objective]) -> Storage:
        """The study of this name, new if there is none.

        Raises
        ------
        SearchError
            The database cannot be used, or the study has other objectives.
        """
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ExperimentalWarning)
                study = optuna.create_study(
                    storage=_storage(url),
                    study_name=name,
                    directions=["minimize"] * len(objectives),
                    load_if_exists=True,
                )
                if len(study.directions) == len(objectives):
                    study.set_metric_names([objective.value for objective in objectives])
        except (SQLAlchemyError, ValueError, ImportError, RuntimeError) as error:
            reason = str(error).splitlines()[0]
            raise SearchError(f"storage {url}: {reason}") from None
        if len(study.directions) != len(objectives):
            raise SearchError(f"storage {url}: study {name} has other objectives")
        return Storage(study, space)

    def samples(self, known: Sequence[str]) -> tuple[str, ...]:
        """The samples that the models of this search learned from; of a new search, those known.

        A search that is continued keeps its models, and so proposes what it would have proposed.
        """
        if _SAMPLES not in self.study.user_attrs:
            begun = bool(self.study.get_trials(deepcopy=False))
            self.study.set_user_attr(_SAMPLES, [] if begun else [*known])
        return tuple(self.study.user_attrs[_SAMPLES])

    def stored(self) -> dict[Place, Stored]:
        """All finished machines."""
        found = {}
        for trial in self.study.get_trials(deepcopy=False):
            attributes = trial.user_attrs
            if "tandem" not in attributes:
                continue
            entry = msgspec.convert(attributes["tandem"], _Entry)
            values = tuple(trial.values) if trial.state is TrialState.COMPLETE else None
            proposal = Proposal(entry.indices, entry.generation)
            found[entry.batch, entry.place] = Stored(Finished(proposal, values), entry.measured)
        return found

    def add(self, place: Place, stored: Stored) -> None:
        """Store a finished machine; raises `SearchError` if the database refuses it."""
        finished = stored.finished
        entry = _Entry(
            *place, finished.proposal.indices, finished.proposal.generation, stored.measured
        )
        dimensions = self.space.dimensions
        trial = create_trial(
            state=TrialState.FAIL if finished.values is None else TrialState.COMPLETE,
            params={
                dimension.name: index
                for dimension, index in zip(dimensions, finished.proposal.indices, strict=True)
            },
            distributions={
                dimension.name: optuna.distributions.IntDistribution(0, len(dimension.values) - 1)
                for dimension in dimensions
            },
            values=finished.values,
            user_attrs={"tandem": msgspec.to_builtins(entry)},
        )
        try:
            self.study.add_trial(trial)
        except (SQLAlchemyError, optuna.exceptions.StorageInternalError) as error:
            raise SearchError(f"storage: {str(error).splitlines()[0]}") from None


@contextmanager
def alone(folder: Path, url: str, study: str) -> Iterator[None]:
    """A context in which no other process of this computer has the same study of a database.

    Raises
    ------
    SearchError
        Another process has it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{content_key(_database(url), study)}.lock").open("w") as file:
        try:
            # The operating system releases it when the process ends, even by a signal.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SearchError("another process is at this search already") from None
        yield


def _database(url: str) -> str:
    """A database's URL, the same for all paths that lead to a file of SQLite."""
    scheme, found, path = url.partition(":///")
    return scheme + found + os.path.realpath(path) if scheme.startswith("sqlite") else url


def _storage(url: str) -> RDBStorage:
    storage = RDBStorage(url)
    if storage.engine.dialect.name == "sqlite":
        listen(storage.engine, "connect", lambda connection, record: keep_a_log(connection))
        # Connections that are open already keep none.
        storage.engine.dispose()
    return storage


class _Entry(msgspec.Struct, frozen=True):
    batch: int
    place: int
    indices: tuple[int, ...]
    generation: int
    measured: Measured


def default_url(root: Path) -> str:
    """The database under a folder, which is made."""
    root.mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{root / 'studies.db'}"
