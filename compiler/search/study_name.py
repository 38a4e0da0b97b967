"""The name of a search's study: a digest of all that its machines depend on."""

from __future__ import annotations

import json
from importlib.metadata import version

from tandem.base.cache import content_key
from tandem.base.sources import source_digest
from tandem.compiler.search.session import Search


def study_name(search: Search, networks: str) -> str:
    """The name of the study, which says its networks: equal searches have one, whatever their
    budget."""
    proposer = search.proposer
    space = proposer.space
    digest = content_key(
        "study",
        search.results.task,
        json.dumps(space.as_json()),
        repr(search.weights),
        repr([objective.value for objective in search.objectives]),
        f"{proposer.explorer.value} {proposer.seed}",
        # What models say of one machine changes when they learn from other samples.
        repr(search.estimator.estimate(space.base)),
        version("optuna"),
        _explorers_digest(),
    )
    return f"{networks}, {space.name}, {proposer.explorer.value}, {digest}"


def _explorers_digest() -> str:
    """A digest of the source that proposes machines and estimates them: another one would not go
    on as this does."""
    names = ("proposals", "mutation", "estimates")
    proposing = (f"tandem.compiler.search.{name}" for name in names)
    return source_digest(*proposing, within=("tandem.compiler.search", "tandem.hw"))
