"""Keys and values lie where the accelerator reads them: a call writes its rows, no others."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.graph.evaluate import evaluate
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.runtime.artifact import RowsCode, Scale
from tandem.runtime.decoder import DecoderArtifact, MadeToken, Sampler, generate
from tandem.runtime.decoder.resident import ResidentRows, resident_rows
from tandem.workbench.decoders.compiling import DecoderOptions, compile_decoder
from tandem.workbench.decoders.sessions import open_session
from tandem.workbench.decoders.sources import open_decoder
from tandem.workbench.devices import Accelerator, Cpu
from tandem.workbench.platform import Platform
from tests.support.compiler.graph.graphs import graph
from tests.support.decoders import CONTEXT, ONE_LAYER, ROTARY, compiled

PLATFORM = Platform("functional", parse_memory("fast"), 1)
PROMPT = (5, 17, 3, 22, 1, 9, 30)
NUMBERS = st.floats(width=32) | st.sampled_from([0.75, -0.25, 1.25, np.inf, -np.inf])


@given(
    st.lists(NUMBERS, min_size=12, max_size=12),
    st.floats(2.0**-10, 2.0**6, width=32),
    st.integers(-128, 127),
)
def test_rows_are_rounded_as_the_network_rounds(
    numbers: list[float], step: float, zero: int
) -> None:
    rows = np.array(numbers, np.float32).reshape(1, 2, 2, 3)
    quantise = graph(
        "func @f(x: float32[1, 2, 2, 3], s: float32[], z: int8[]) -> int8[1, 2, 2, 3]:\n"
        "  y = quantise(x, s, z)\n  return y\n"
    )
    wanted = evaluate(quantise, [rows, np.array(step, np.float32), np.array(zero, np.int8)])
    assert isinstance(wanted, np.ndarray)
    code = RowsCode("x", (2, 6), (1, 0), (0, 1), 0, 2, 6)
    found = ResidentRows(code, Scale(step, zero)).rounded(rows)
    np.testing.assert_array_equal(found, wanted[0].transpose(1, 0, 2).reshape(2, 6))


def test_both_functions_keep_all_keys_and_values() -> None:
    for model in (ONE_LAYER, ROTARY):
        decoder = compiled(model, "tiny-x")
        names = {each.past for each in decoder.ports.caches}
        for function, tokens in ((decoder.prefill, 4), (decoder.decode, 1)):
            found = resident_rows(function)
            assert found.keys() == names
            assert {each.code.first for each in found.values()} == {CONTEXT - 1}
            assert {each.code.count for each in found.values()} == {tokens}
        assert not resident_rows(compiled(model, "cpu").decode)


def test_what_a_token_costs() -> None:
    """A row of keys and one of values: within the call, and then in the memory of each function."""
    with open_session(compiled(ONE_LAYER, "tiny-x"), PLATFORM) as decoder:
        made = [*generate(decoder, PROMPT, CONTEXT + 1 - len(PROMPT), Sampler())]
    row = 2 * 16
    first, *others, last = (each.cache_bytes for each in made)
    assert first == 2 * 4 * row + 2 * len(PROMPT) * row
    assert {*others} == {3 * row}
    # Nothing comes behind the last token of a context.
    assert last == row


def test_on_the_processor_they_are_real_numbers() -> None:
    with open_session(compiled(ONE_LAYER, "cpu"), PLATFORM) as decoder:
        (made,) = generate(decoder, PROMPT, 1, Sampler())
    assert made == MadeToken(made.token, None, 2, None)


def test_a_call_that_was_interrupted_leaves_no_trace() -> None:
    """Its rows are hidden, or written anew."""
    with open_session(compiled(ONE_LAYER, "tiny-x"), PLATFORM) as decoder:
        decoder.feed(PROMPT)
        wanted = decoder.feed([4]).logits
        decoder.reset()
        decoder.feed(PROMPT)
        length, cache = decoder.length, decoder._cache
        decoder.feed([200])
        # As if it had ended before its rows were added: they are behind the text.
        decoder.length = length
        np.testing.assert_array_equal(decoder.feed([4]).logits, wanted)
        assert decoder._cache is cache


def test_the_processor_in_the_accelerator_s_place() -> None:
    """It adds rows in the host's memory, in the same order."""
    machine = Accelerator(load_config("tiny-x"), parse_memory("fast"), host=Cpu(1))
    options = DecoderOptions(chunk=4, fallback=True)
    decoder = compile_decoder(open_decoder(ONE_LAYER), options, machine)
    assert decoder.prefill.fallback is not None
    assert decoder.decode.fallback is not None
    alone = DecoderArtifact(decoder.prefill.fallback, decoder.decode.fallback, decoder.ports)
    made = []
    for artifact in (decoder, alone):
        with open_session(artifact, PLATFORM) as session:
            made.append([*generate(session, PROMPT, 4, Sampler(5.0, top_k=30, seed=2))])
    assert made[0] == made[1]
