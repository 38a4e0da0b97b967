"""The name of a search's study: a digest of all that its machines depend on."""

from __future__ import annotations

import json
from importlib.metadata import version

from hw.cache import content_key
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
    )
    models = " ".join(as_text(network.model) for network in search.task.networks)
    return f"{models}, {space.name}, {proposer.explorer.value}, {digest}"
