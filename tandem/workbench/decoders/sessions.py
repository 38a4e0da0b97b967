"""Decoders on devices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tandem.runtime.artifact import config_of
from tandem.runtime.decoder import Decoder, DecoderArtifact
from tandem.workbench.platform import Platform


@contextmanager
def open_session(artifact: DecoderArtifact, platform: Platform) -> Iterator[Decoder]:
    """A context with a decoder, whose functions share an engine and a processor."""
    config = config_of(artifact.prefill) or config_of(artifact.decode)
    with platform.executors(config, (artifact.prefill, artifact.decode)) as (prefill, decode):
        yield Decoder(artifact, prefill, decode)
