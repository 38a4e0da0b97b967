"""Errors of decoders."""

from __future__ import annotations

from tandem.runtime.errors import RunError


class DecoderError(RunError):
    """A network that is no decoder, or tokens that it does not have; says what is wanted."""


class ContextError(DecoderError):
    """A text that is longer than a decoder's context."""
