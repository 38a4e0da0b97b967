"""Whether this processor can run an artifact."""

from __future__ import annotations

from tandem.runtime.artifact import Artifact
from tandem.runtime.native import ObjectCode
from tandem.runtime.native.processor import missing_features, this_triple


def runs_here(artifact: Artifact) -> bool:
    """Whether this processor can run an artifact's code."""
    codes = artifact.of_kind(ObjectCode).values()
    return all(
        code.triple == this_triple() and not missing_features(code.features) for code in codes
    )
