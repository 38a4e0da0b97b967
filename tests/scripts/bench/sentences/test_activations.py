"""A small sentence encoder with integers throughout gives nearly what float32 gives."""

from __future__ import annotations

import numpy as np

import tandem
from tandem.scripts.bench.sentences.activations import Format, embeddings, padded
from tandem.scripts.bench.sentences.onnx_bert import onnx_model
from tandem.scripts.bench.sentences.weights_alone import SentenceTest
from tests.support.scripts.bench.small_bert import small_bert

WORDS, LENGTH = 40, 6
CALIBRATION = [[1, 5, 7], [2, 9, 11, 30, 4], [3, 8, 21, 22, 17, 6], [12, 19]]
TESTED = [[2, 4, 31], [14, 15, 3, 2, 9, 10]]
BERT = small_bert(WORDS, LENGTH)


def test_padding_changes_no_embedding_of_the_model_in_real_numbers() -> None:
    artifact = tandem.compile(onnx_model(BERT.tensors, LENGTH), tandem.Cpu(), quantize="none")
    session = tandem.Session(artifact)
    for words in TESTED:
        found = session.run(padded([words], LENGTH))["embedding"]
        np.testing.assert_allclose(found[0], BERT.embedding(words), atol=1e-5)


def test_padded_inputs() -> None:
    found = padded([[5, 6], [7]], 3)
    assert found["tokens"].tolist() == [[5, 6, 0], [7, 0, 0]]
    assert found["mask"].tolist() == [[1, 1, 0], [1, 0, 0]]


def test_integers_are_near_to_real_numbers() -> None:
    """Errors of random weights grow over six layers; trained ones keep 0.99."""
    model = onnx_model(BERT.tensors, LENGTH)
    test = SentenceTest.of(BERT, TESTED)
    found = embeddings(model, Format("int8", smooth=True), CALIBRATION, TESTED, LENGTH)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert test.cosines_of(found).mean() > 0.9
