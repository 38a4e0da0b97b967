"""What the functions of a decoder are given while they read texts, by hand: the cache of this one
holds the numbers of its tokens."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.frontends.onnx import Imported
from tandem.compiler.graph.evaluate import Interpreter
from tandem.runtime.decoder import CachePort, DecoderPorts
from tandem.workbench.decoders.calibration import DecoderSamples, decoder_samples, random_texts
from tests.support.compiler.graph.graphs import graph

PORTS = DecoderPorts("ids", "places", "mask", "logits", (CachePort("past", "present"),))
ROWS = 5


def network(width: int, *, behind: bool = False) -> str:
    """Its results are of a call's own rows, or have the rows of the cache before these."""
    lines = [
        f"func @main(ids: int64[1, {width}], places: int64[1, {width}], "
        f"mask: int64[1, {ROWS + width}], past: float32[1, 1, {ROWS}, 1]):",
        "  real = cast(ids, to=float32)",
        f"  logits = reshape(real, shape=[1, {width}, 1])",
        f"  new = reshape(real, shape=[1, 1, {width}, 1])",
        "  present = concat(past, new, axis=2)" if behind else "  present = identity(new)",
        "  both = (logits, present)",
        "  return both",
    ]
    return "\n".join(lines)


ALONE, BEHIND = network(2), network(2, behind=True)


def samples(text: str, *texts: list[int]) -> DecoderSamples:
    names = ("ids", "places", "mask", "past")
    imported = Imported(graph(text), names, ("logits", "present"), {})
    return decoder_samples(imported, PORTS, [np.array(each) for each in texts], Interpreter())


def told(inputs: dict[str, np.ndarray]) -> tuple[list[int], list[int], list[int], list[float]]:
    return (
        inputs["ids"][0].tolist(),
        inputs["places"][0].tolist(),
        inputs["mask"][0].tolist(),
        inputs["past"].reshape(-1).tolist(),
    )


@pytest.mark.parametrize("text", [ALONE, BEHIND], ids=["own rows", "rows behind"])
def test_a_text(text: str) -> None:
    found = samples(text, [7, 8, 9])
    assert [told(each) for each in found.prefill] == [
        ([7, 8], [0, 1], [0, 0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0]),
        ([9, 0], [2, 3], [1, 1, 0, 0, 0, 1, 0], [7, 8, 0, 0, 0]),
    ]
    # One token behind each part, and one behind the text.
    assert [told(each) for each in found.decode] == [
        ([9], [2], [1, 1, 0, 0, 0, 1], [7, 8, 0, 0, 0]),
        ([9], [3], [1, 1, 1, 0, 0, 1], [7, 8, 9, 0, 0]),
    ]


def test_texts_that_fill_the_context() -> None:
    found = samples(ALONE, [1, 2, 3, 4, 5, 6])
    assert [told(each)[0] for each in found.prefill] == [[1, 2], [3, 4], [5, 6]]
    assert told(found.prefill[2])[3] == [1, 2, 3, 4, 0]
    assert [(told(each)[0], told(each)[3]) for each in found.decode] == [
        ([3], [1, 2, 0, 0, 0]),
        ([5], [1, 2, 3, 4, 0]),
    ]
    full = samples(ALONE, [1, 2, 3, 4, 5])
    assert [told(each)[3] for each in full.decode] == [[1, 2, 0, 0, 0], [1, 2, 3, 4, 0]]


def test_texts_of_one_part() -> None:
    found = samples(ALONE, [4], [5, 6])
    assert [told(each) for each in found.decode] == [
        ([4], [1], [1, 0, 0, 0, 0, 1], [4, 0, 0, 0, 0]),
        ([6], [2], [1, 1, 0, 0, 0, 1], [5, 6, 0, 0, 0]),
    ]
    # Each text begins with an empty cache.
    assert [told(each)[3] for each in found.prefill] == [[0] * ROWS] * 2


def test_texts_that_are_read_at_once() -> None:
    found = samples(network(6), [1, 2, 3, 4, 5, 6])
    assert [told(each)[0] for each in found.prefill] == [[1, 2, 3, 4, 5, 6]]
    # The cache has five rows, and is full behind the text, too.
    assert [told(each) for each in found.decode] == [([6], [5], [1] * 6, [1, 2, 3, 4, 5])]


def test_random_texts() -> None:
    texts = random_texts(10, 2000, 3)
    assert [each.shape for each in texts] == [(2000,), (2000,)]
    assert {*np.concatenate(texts).tolist()} == {*range(10)}
    assert (texts[0] != texts[1]).any()
    again, other = random_texts(10, 2000, 3), random_texts(10, 2000, 4)
    assert (texts[0] == again[0]).all()
    assert (texts[0] != other[0]).any()
