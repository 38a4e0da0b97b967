"""A small sentence encoder of random weights, and files of it as the trained one's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tandem.scripts.bench.sentences.bert import LAYERS, PRODUCTS, Array, Bert
from tandem.scripts.bench.sentences.model_folder import PIECES, TENSORS

FEATURES, INNER = 24, 32


def small_bert(words: int, length: int) -> Bert:
    """An encoder of so many words, of sentences of this length at most."""
    generator = np.random.default_rng(7)

    def noise(shape: tuple[int, ...], spread: float = 1.0, mean: float = 0.0) -> Array:
        return (mean + spread * generator.standard_normal(shape)).astype(np.float32)

    tensors: dict[str, Array] = {
        "embeddings.word_embeddings.weight": noise((words, FEATURES)),
        "embeddings.position_embeddings.weight": noise((length, FEATURES), 0.25),
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


def write_model(bert: Bert, pieces: Sequence[str], folder: Path) -> None:
    """The encoder's tensors in the safetensors format, and the pieces of its words."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    place = 0
    for name, tensor in bert.tensors.items():
        ends = [place, place + tensor.nbytes]
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": ends}
        place = ends[1]
    text = json.dumps(header).encode()
    data = b"".join(tensor.tobytes() for tensor in bert.tensors.values())
    (folder / TENSORS).write_bytes(len(text).to_bytes(8, "little") + text + data)
    (folder / PIECES).write_text("\n".join(pieces) + "\n", encoding="utf-8")
