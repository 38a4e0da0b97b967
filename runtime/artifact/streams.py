"""The accelerator's part of an artifact."""

from __future__ import annotations

from tandem.hw.config import HardwareConfig
from tandem.runtime.artifact.artifact import Artifact
from tandem.runtime.artifact.stream import StreamCode


def streams_of(artifact: Artifact) -> dict[str, StreamCode]:
    """The instruction streams of an artifact, by name."""
    return artifact.of_kind(StreamCode)


def config_of(artifact: Artifact) -> HardwareConfig | None:
    """The accelerator that an artifact's streams were compiled for; None without streams."""
    return next((stream.config for stream in streams_of(artifact).values()), None)
