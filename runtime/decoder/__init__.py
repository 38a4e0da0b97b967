"""Decoders: networks that make text token by token, with a cache of keys and values.

A decoder artifact has two functions: `prefill` takes several tokens in a call, `decode` one. Both
read one cache, which stays where it is between calls; each call adds the rows of its tokens.
"""

from tandem.runtime.decoder.decoder import Decoder, Fed, check_tokens
from tandem.runtime.decoder.decoder_artifact import DecoderArtifact
from tandem.runtime.decoder.decoder_files import is_decoder, read_decoder, write_decoder
from tandem.runtime.decoder.errors import ContextError, DecoderError
from tandem.runtime.decoder.generation import MadeToken, check_length, check_request, generate
from tandem.runtime.decoder.ports import CachePort, DecoderPorts
from tandem.runtime.decoder.sampling import Sampler
from tandem.runtime.decoder.tokens import BYTES, text_of, tokens_of

__all__ = [
    "BYTES",
    "CachePort",
    "ContextError",
    "Decoder",
    "DecoderArtifact",
    "DecoderError",
    "DecoderPorts",
    "Fed",
    "MadeToken",
    "Sampler",
    "check_length",
    "check_request",
    "check_tokens",
    "generate",
    "is_decoder",
    "read_decoder",
    "text_of",
    "tokens_of",
    "write_decoder",
]
