"""Every token of a decoder in int8 is the same on all engines and on the processor."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.hw.memory_model import parse_memory
from tandem.runtime.decoder import Sampler
from tandem.workbench.decoders.generated import Generated, make_text
from tandem.workbench.decoders.sessions import open_session
from tandem.workbench.platform import Platform
from tests.support.decoders import CONTEXT, ONE_LAYER, ROTARY, compiled, whole_logits

PROMPT = (5, 17, 3, 22, 1, 9, 30)
COUNT = CONTEXT + 1 - len(PROMPT)


def made(model: object, config: str, engine: str) -> Generated:
    platform = Platform(engine, parse_memory("fast"), 1)
    sampler = Sampler(5.0, top_k=30, seed=2)
    decoder = compiled(ONE_LAYER if model is ONE_LAYER else ROTARY, config)
    return make_text(decoder, platform, PROMPT, COUNT, sampler)


@pytest.mark.every(2)
@pytest.mark.parametrize("model", [ONE_LAYER, ROTARY], ids=["gpt2", "llama"])
def test_tokens_and_cycles_on_every_engine(model: object) -> None:
    on_cpu = made(model, "cpu", "functional")
    tokens = [each.token for each in on_cpu.made]
    assert on_cpu.cycles is None
    assert len({*tokens}) > 1, "a text that shows differences"
    functional, cycle, rtl = (
        made(model, "tiny-x", engine) for engine in ("functional", "cycle", "rtl")
    )
    for run in (functional, cycle, rtl):
        assert [each.token for each in run.made] == tokens
    assert functional.cycles is None
    assert cycle.made == rtl.made
    first, *others = cycle.made
    assert first.calls == 2
    assert {each.calls for each in others} == {1}
    # Attention is over all rows of the cache, whatever is in them.
    assert len({each.cycles for each in others}) == 1


def test_scores_are_near_those_in_real_numbers() -> None:
    platform = Platform("functional", parse_memory("fast"), 1)
    expected = whole_logits(ONE_LAYER, PROMPT)[-1]
    with open_session(compiled(ONE_LAYER, "cpu"), platform) as decoder:
        for parts in ((PROMPT,), (PROMPT[:-1], PROMPT[-1:])):
            decoder.reset()
            for part in parts:
                logits = decoder.feed(part).logits
            noise = np.square(logits - expected).mean()
            assert 10 * np.log10(np.square(expected).mean() / noise) > 20
