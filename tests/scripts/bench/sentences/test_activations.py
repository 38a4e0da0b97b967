"""A small sentence encoder with integers throughout gives nearly what float32 gives."""

from __future__ import annotations

import numpy as np

import tandem
from tandem.scripts.bench.sentences.activations import Format, embeddings, padded
from tandem.scripts.bench.sentences.bert import LAYERS, PRODUCTS, Array, Bert
from tandem.scripts.bench.sentences.onnx_bert import onnx_model
from tandem.scripts.bench.sentences.weights_alone import SentenceTest

FEATURES, INNER, WORDS, LENGTH = 24, 32, 40, 6
CALIBRATION = [[1, 5, 7], [2, 9, 11, 30, 4], [3, 8, 21, 22, 17, 6], [12, 19]]
TESTED = [[2, 4, 31], [14, 15, 3, 2, 9, 10]]


def small_bert() -> Bert:
    """An encoder of random weights."""
    generator = np.random.default_rng(7)

    def noise(shape: tuple[int, ...], spread: float = 1.0, mean: float = 0.0) -> Array:
        return (mean + spread * generator.standard_normal(shape)).astype(np.float32)

    tensors: dict[str, Array] = {
        "embeddings.word_embeddings.weight": noise((WORDS, FEATURES)),
        "embeddings.position_embeddings.weight": noise((LENGTH, FEATURES), 0.25),
        "embeddings.token_type_embeddings.weight": noise((2, FEATURES), 0.25),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        norms += [f"{name}.attention.output.LayerNorm", f"{name}.output.LayerNorm"]
        for product in PRODUCTS:
            inputs = INNER if product == "output.dense" else FEATURES
            outputs = INNER if product == "intermediate.dense" else FEATURES
            tensors[f"{name}.{product}.weight"] = noise((outputs, inputs), inputs**-0.5)
            tensors[f"{name}.{product}.bias"] = noise((outputs,), 0.125)
    for name in norms:
        tensors[f"{name}.weight"] = noise((FEATURES,), 0.125, 1.0)
        tensors[f"{name}.bias"] = noise((FEATURES,), 0.125)
    return Bert(tensors)


BERT = small_bert()


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
