"""Models that are decoders, and models that are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, numpy_helper

from tandem.compiler.models import built_in
from tandem.hw.memory_model import parse_memory
from tandem.runtime.decoder import ContextError, DecoderError, Sampler
from tandem.workbench.decoders.compiling import DecoderOptions, compile_decoder
from tandem.workbench.decoders.generated import make_text
from tandem.workbench.decoders.sources import open_decoder
from tandem.workbench.devices import Cpu
from tandem.workbench.errors import ModelError
from tandem.workbench.platform import Platform
from tests.support.decoders import ONE_LAYER, exported

PLATFORM = Platform("functional", parse_memory("fast"), 1)
PROMPT = (5, 17, 3, 2, 1)


def numpy_logits(proto: ModelProto, tokens: list[int]) -> NDArray[np.float32]:
    """The scores after the last token, by the formulas of attention."""
    weights = {each.name: numpy_helper.to_array(each) for each in proto.graph.initializer}
    x = weights["words"][tokens] + weights["places"][: len(tokens)]
    query, keys, values = (x @ weights[name] for name in "qkv")
    scores = np.exp(query[-1] @ keys.T)
    result = x[-1] + scores @ values / scores.sum()
    logits: NDArray[np.float32] = result @ weights["head"]
    return logits


def test_an_export_with_open_extents(tmp_path: Path) -> None:
    path = tmp_path / "export.onnx"
    onnx.save(exported(), path)
    options = DecoderOptions(context=10, chunk=3, quantise=None)
    decoder = compile_decoder(open_decoder(path), options, Cpu(1))
    assert (decoder.name, decoder.context, decoder.vocabulary) == ("export.onnx", 10, 20)
    said: list[int] = []
    text = make_text(decoder, PLATFORM, PROMPT, 6, Sampler(1.0, seed=3), said.append)
    tokens, sampler = [*PROMPT], Sampler(1.0, seed=3)
    for _ in range(6):
        tokens.append(sampler.next(numpy_logits(exported(), tokens)))
    assert [*text.prompt, *(each.token for each in text.made)] == tokens
    assert said == tokens[len(PROMPT) :]


def renamed(proto: ModelProto, name: str, other: str) -> ModelProto:
    for info in (*proto.graph.input, *proto.graph.output):
        if info.name == name:
            info.name = other
    return proto


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda model: renamed(model, "position_ids", "positions"), "no input position_ids"),
        (lambda model: renamed(model, "attention_mask", "mask"), "no input attention_mask"),
        (lambda model: renamed(model, "logits", "scores"), "no output logits"),
        (lambda model: renamed(model, "present.0.key", "key"), "no output present.0.key"),
        (
            lambda model: renamed(model, "past_key_values.0.key", "use_cache_branch"),
            "not a decoder's: use_cache_branch",
        ),
    ],
)
def test_exports_that_are_none(change: Callable[[ModelProto], ModelProto], reason: str) -> None:
    with pytest.raises(DecoderError, match=f"^exported is no decoder: .*{reason}"):
        open_decoder(change(exported()))


def test_models_that_are_none() -> None:
    with pytest.raises(DecoderError, match="it has no inputs past_key_values"):
        open_decoder(built_in("digits"))
    with pytest.raises(DecoderError, match=r"^digits is no decoder; built-in ones are gpt2,"):
        open_decoder("digits")
    with pytest.raises(ModelError, match="neither a decoder that is built in"):
        open_decoder("gpt7")


def test_contexts_that_a_model_lacks() -> None:
    source = open_decoder(ONE_LAYER)
    for context, reason in ((13, "positions for 12"), (1, "2 or more")):
        with pytest.raises(ContextError, match=reason):
            compile_decoder(source, DecoderOptions(context=context), Cpu(1))
    with pytest.raises(DecoderError, match="prefill takes 0 tokens"):
        compile_decoder(source, DecoderOptions(chunk=0), Cpu(1))
    with pytest.raises(DecoderError, match="tokens other than 0 to 255"):
        compile_decoder(source, DecoderOptions(text=(1, 256)), Cpu(1))
