"""The name of a search's study: a digest of all that its machines depend on."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib.metadata import version
from pathlib import Path

from hw.cache import content_key
from scripts.search import mutation, proposals
from scripts.search.results import task_digest
from scripts.search.session import Search
from scripts.sources import as_text


def study_name(search: Search) -> str:
    """The name of the study: equal searches have one, whatever their budget."""
    proposer = search.proposer
    space = proposer.space
    digest = content_key(
        "study",
        task_digest(search.task),
        json.dumps(space.as_json()),
        repr(search.weights),
        repr([objective.value for objective in search.objectives]),
        f"{proposer.explorer.value} {proposer.seed}",
        # What models say of one machine changes when they learn from other samples.
        repr(search.estimator.estimate(space.base)),
        version("optuna"),
        _explorers_digest(),
    )
    models = " ".join(as_text(network.model) for network in search.task.networks)
    return f"{models}, {space.name}, {proposer.explorer.value}, {digest}"


@cache
def _explorers_digest() -> str:
    """A digest of the source that proposes machines: another one would not go on as this does."""
    digest = hashlib.sha256()
    for module in (proposals, mutation):
        assert module.__file__ is not None, "a module with a file"
        digest.update(Path(module.__file__).read_bytes())
    return digest.hexdigest()[:16]
