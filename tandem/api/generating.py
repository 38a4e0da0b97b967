"""`tandem.compile_decoder` and `tandem.generate`: text from language models."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from onnx import ModelProto

from tandem.api.decoder_artifact import DecoderArtifact
from tandem.api.machines import Machine, Memory, NamedMemory, device_of
from tandem.api.progress import Progress, steps_of
from tandem.api.weights import weight_options
from tandem.compiler.models.decoders import DecoderModel
from tandem.compiler.quantise.options import Mode
from tandem.runtime.decoder import DecoderError, Sampler, check_request, tokens_of
from tandem.sim.engines import ENGINES
from tandem.workbench.arguments import at_least, choice, expect, value_errors
from tandem.workbench.decoders.compiling import DEFAULT_CHUNK, DecoderOptions
from tandem.workbench.decoders.compiling import compile_decoder as compile_functions
from tandem.workbench.decoders.generated import Generated, make_text
from tandem.workbench.decoders.sources import open_decoder
from tandem.workbench.errors import ModelError
from tandem.workbench.platform import Platform

DecoderLoadable: TypeAlias = str | os.PathLike[str] | ModelProto | DecoderModel
"""A built-in name, a path, or an ONNX model."""
Prompt: TypeAlias = str | bytes | Sequence[int]
"""A text, if tokens are bytes, or numbers of tokens."""


def compile_decoder(
    model: DecoderLoadable,
    machine: Machine = "pynq",
    *,
    context: int | None = None,
    prefill: int = DEFAULT_CHUNK,
    quantize: str | None = "multiplier",
    calibrate: bytes | Sequence[int] | None = None,
    records: str | os.PathLike[str] | None = None,
    hide_latency: bool = True,
    memory: Memory = "fast",
    weights: str = "int8",
    weights_of: Mapping[str, str] | None = None,
    weight_group: int | None = None,
    max_loss: float | None = None,
    smooth: bool = False,
    seed: int = 0,
    progress: Progress = None,
) -> DecoderArtifact:
    """A language model compiled for a machine, as two functions with one cache.

    >>> decoder = tandem.compile_decoder("bytes-tiny", "tiny-x", context=16)
    >>> text = tandem.generate(decoder, "In the", tokens=8)
    >>> len(text.tokens)
    8

    Parameters
    ----------
    model
        The name of a built-in decoder (`gpt2`, `llama`, ...), or an ONNX model or its path. Its
        inputs are `input_ids`, `position_ids`, `attention_mask` and `past_key_values.*`, its
        outputs `logits` and `present.*`.
    machine
        An accelerator, or `tandem.Cpu()`.
    context
        The most tokens of a text; None for 128, or what the model allows.
    prefill
        The tokens of a prompt that are read in one call.
    quantize
        `multiplier` or `pow2`, as of `tandem.compile`; None for float32.
    calibrate
        A text to measure scales with, as bytes or numbers of tokens; None for random tokens.
    records, hide_latency, memory, weights, weights_of, weight_group, max_loss, smooth
        As of `tandem.compile`.
    seed
        Of a built-in decoder's random weights, and of random tokens.
    progress
        None, True for a bar, or a callback of (done, total, text).

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        An argument that is not allowed; a model that is no decoder; a context that it lacks.
    CompilerError
        Something in the model is not supported.
    """
    if not isinstance(model, str | os.PathLike | ModelProto | DecoderModel):
        expect("model", model, "a built-in name, a path or an onnx.ModelProto")
    mode = None if quantize is None else choice("quantize", quantize, [*map(_value, Mode)])
    formats = weight_options(
        *(weights, weights_of, weight_group, max_loss),
        smooth=smooth,
        calibrated=calibrate is not None,
        quantised=mode is not None,
    )
    device = device_of(machine, memory, hiding=hide_latency, records=records)
    options = DecoderOptions(
        None if context is None else at_least("context", context, 2),
        at_least("prefill", prefill, 1),
        None if mode is None else Mode(mode),
        calibrate,
        at_least("seed", seed, 0),
        formats,
    )
    named = model if isinstance(model, str | ModelProto | DecoderModel) else os.fspath(model)
    with steps_of("compile", progress) as steps, value_errors(DecoderError, ModelError):
        source = open_decoder(named, options.seed)
        return DecoderArtifact(compile_functions(source, options, device, steps.say))


def generate(
    decoder: DecoderArtifact,
    prompt: Prompt,
    *,
    tokens: int = 32,
    temperature: float = 0.0,
    top_k: int | None = None,
    seed: int = 0,
    engine: str = "cycle",
    memory: Memory = "fast",
    threads: int | None = None,
    progress: Progress = None,
) -> Generated:
    """Text behind a prompt.

    Parameters
    ----------
    decoder
        What `tandem.compile_decoder` or `tandem.DecoderArtifact.load` gives.
    prompt
        A text or bytes, if tokens are bytes, or numbers of tokens.
    tokens
        How many to make.
    temperature
        0 for the best token, or what scores are divided by before one is drawn.
    top_k
        How many of the best tokens are drawn from; None for all.
    seed
        Of the drawing: with the same one, the same tokens.
    engine, memory, threads
        As of `tandem.Session`.
    progress
        None, True for a bar, or a callback of (done, total, text): tokens.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        An argument that is not allowed; a text that is longer than the context.
    RunError, SimulationError
        The run failed.
    """
    if not isinstance(decoder, DecoderArtifact):
        expect("decoder", decoder, "what tandem.compile_decoder or DecoderArtifact.load gives")
    if not isinstance(temperature, int | float):
        expect("temperature", temperature, "a number, 0 or more")
    functions, count = decoder.functions, at_least("tokens", tokens, 1)
    platform = Platform(
        choice("engine", engine, ENGINES),
        NamedMemory.of(memory).model,
        None if threads is None else at_least("threads", threads, 1),
    )
    with value_errors(DecoderError):
        numbers = _numbers(decoder, prompt)
        check_request(functions, numbers, count)
        best = None if top_k is None else at_least("top_k", top_k, 1)
        sampler = Sampler(float(temperature), best, at_least("seed", seed, 0))
    with steps_of("generate", progress) as steps:
        steps.at(0, count, "prompt")
        return make_text(
            *(functions, platform, numbers, count, sampler),
            lambda token: steps.at(steps.done + 1, count, f"token {token}"),
        )


def _numbers(decoder: DecoderArtifact, prompt: object) -> tuple[int, ...]:
    """The tokens of a prompt."""
    if isinstance(prompt, str):
        return tokens_of(decoder.name, decoder.vocabulary, prompt)
    if isinstance(prompt, Sequence):
        return tuple(at_least("a token of prompt", each, 0) for each in prompt)
    expect("prompt", prompt, "a str, bytes or a sequence of numbers of tokens")


def _value(mode: Mode) -> str:
    return mode.value
