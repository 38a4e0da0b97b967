"""Decoders compiled for a device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.driver.compile_onnx import Samples, prepare_network
from tandem.compiler.frontends.onnx import Imported
from tandem.compiler.graph.infer import result_of
from tandem.compiler.graph.types import TensorType, tensors_of
from tandem.compiler.machines.defaults import compile_options, host_runner
from tandem.compiler.quantise.options import Mode
from tandem.compiler.quantise.weight_options import INT8_WEIGHTS, WeightOptions
from tandem.runtime.artifact import Artifact, Provenance
from tandem.runtime.decoder import BYTES, ContextError, DecoderArtifact, DecoderError
from tandem.workbench.decoders.calibration import Inputs, decoder_samples, random_texts
from tandem.workbench.decoders.sources import DecoderSource
from tandem.workbench.devices import TargetDevice
from tandem.workbench.models import asking, weights_recorded, with_fallback

DEFAULT_CONTEXT = 128
"""The context of a decoder, unless its own is shorter."""
DEFAULT_CHUNK = 16
"""The tokens of `prefill`."""


@dataclass(frozen=True, slots=True)
class DecoderOptions:
    """How a decoder is compiled.

    Attributes
    ----------
    context
        The most tokens of a text; None for `DEFAULT_CONTEXT`, or what the model allows.
    chunk
        The tokens that `prefill` takes in a call; fewer in a shorter context.
    quantise
        The multipliers of requantisation; None leaves the network in float32.
    text
        Tokens to calibrate with, of which parts are as long as the context; bytes are allowed
        where tokens are bytes. None for random ones.
    seed
        Of random tokens.
    weights
        The format of weights.
    fallback
        Whether the artifact has code for the processor alone, too.
    """

    context: int | None = None
    chunk: int = DEFAULT_CHUNK
    quantise: Mode | None = Mode.MULTIPLIER
    text: bytes | Sequence[int] | None = None
    seed: int = 0
    weights: WeightOptions = INT8_WEIGHTS
    fallback: bool = False


def compile_decoder(
    source: DecoderSource,
    options: DecoderOptions,
    device: TargetDevice,
    report: Callable[[str], None] | None = None,
) -> DecoderArtifact:
    """A decoder compiled for a device.

    Raises
    ------
    ContextError
        A context that the model does not have.
    DecoderError
        The model is no decoder, or a text to calibrate with has tokens that it does not have.
    CompilerError
        Something in the model is not supported, or cannot be quantised or compiled.
    """
    context = context_of(source, options.context)
    if options.chunk < 1:
        raise DecoderError(f"prefill takes {options.chunk} tokens; 1 or more are allowed")
    chunk, rows = min(options.chunk, context), context - 1
    if report is not None:
        report("importing")
    prefill, decode = source.imported(chunk, rows), source.imported(1, rows)
    samples: list[list[Inputs] | None] = [None, None]
    if options.quantise is not None:
        if report is not None:
            report("reading texts to calibrate with")
        texts = _texts(source, options, prefill, context)
        found = decoder_samples(prefill, source.ports, texts, host_runner())
        samples = [found.prefill, found.decode]

    def compiled(name: str, imported: Imported, given: list[Inputs] | None) -> Artifact:
        return _compiled(source, name, imported, options, given, device, report)

    return DecoderArtifact(
        compiled("prefill", prefill, samples[0]),
        compiled("decode", decode, samples[1]),
        source.ports,
    )


def context_of(source: DecoderSource, asked: int | None) -> int:
    """The context of a decoder; `asked` as of `DecoderOptions`. Raises as `compile_decoder`."""
    if asked is None:
        return min(DEFAULT_CONTEXT, source.longest or DEFAULT_CONTEXT)
    if asked < 2:
        raise ContextError(f"{source.name}: a context of {asked} tokens; 2 or more are allowed")
    if source.longest is not None and asked > source.longest:
        raise ContextError(
            f"{source.name}: a context of {asked} tokens; it has positions for {source.longest}"
        )
    return asked


def _texts(
    source: DecoderSource, options: DecoderOptions, prefill: Imported, context: int
) -> list[NDArray[np.int64]]:
    """The texts to calibrate with."""
    vocabulary = _vocabulary(source, prefill)
    if options.text is None:
        return random_texts(vocabulary, context, options.seed)
    if isinstance(options.text, bytes) and vocabulary != BYTES:
        raise DecoderError(
            f"{source.name}: its {vocabulary} tokens are no bytes: a text to calibrate with is "
            "numbers of tokens"
        )
    tokens = np.array([*options.text], np.int64)
    if not tokens.size or tokens.min() < 0 or tokens.max() >= vocabulary:
        raise DecoderError(
            f"{source.name}: the text to calibrate with is empty, or has tokens other than 0 to "
            f"{vocabulary - 1}"
        )
    return [*_parts(tokens, context)]


_PARTS = 4
"""The parts of a text that are read, spread over all of it."""


def _parts(tokens: NDArray[np.int64], context: int) -> Iterator[NDArray[np.int64]]:
    last = max(len(tokens) - context, 0)
    for start in sorted({last * part // (_PARTS - 1) for part in range(_PARTS)}):
        yield tokens[start : start + context]


def _vocabulary(source: DecoderSource, imported: Imported) -> int:
    """The number of words: the rows of scores."""
    types = tensors_of(result_of(imported.function))
    type_ = types[imported.outputs.index(source.ports.logits)]
    assert isinstance(type_, TensorType), "results of models are tensors"
    return type_.static_shape(source.ports.logits)[-1]


def _compiled(
    source: DecoderSource,
    function: str,
    imported: Imported,
    options: DecoderOptions,
    samples: list[Inputs] | None,
    device: TargetDevice,
    report: Callable[[str], None] | None,
) -> Artifact:
    given: Samples | None = None if samples is None else lambda _: iter(samples)
    how = compile_options(options.quantise, given, options.seed, weights=options.weights)
    how = replace(how, exact_on=(*how.exact_on, *asking(device)))
    if options.weights.chooses:
        how = replace(how, layer_costs=device.layer_costs())
    recorded: dict[str, str | int | float | bool | None] = {
        "function": function,
        **({} if samples is None else {"texts": "noise" if options.text is None else "given"}),
        **weights_recorded(options.weights),
    }
    provenance = Provenance(source.name, source.digest, options=recorded, seed=source.seed)

    def say(step: str) -> None:
        if report is not None:
            report(f"{function}: {step}")

    prepared = prepare_network(imported, provenance, how, say)
    prepared = replace(prepared, resident=tuple(each.past for each in source.ports.caches))
    device = device.not_slower(prepared, say, say)
    artifact = device.build(prepared, say)
    if options.fallback:
        return with_fallback(artifact, prepared, device, say)
    return artifact
