"""Decoders: models that make text, calibrated and compiled as two functions."""

from tandem.workbench.decoders.calibration import random_texts
from tandem.workbench.decoders.compiling import DecoderOptions, compile_decoder
from tandem.workbench.decoders.sessions import open_session
from tandem.workbench.decoders.sources import DecoderSource, open_decoder

__all__ = [
    "DecoderOptions",
    "DecoderSource",
    "compile_decoder",
    "open_decoder",
    "open_session",
    "random_texts",
]
