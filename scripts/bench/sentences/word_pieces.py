"""Texts as tokens of an uncased WordPiece vocabulary (Wu et al., 2016; as BERT has it)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_LONGEST_WORD: Final = 100
"""Characters beyond which a word is unknown."""


@dataclass(frozen=True, slots=True)
class WordPieces:
    """A vocabulary: the number of each piece. Pieces within a word begin with `##`."""

    numbers: Mapping[str, int]

    @classmethod
    def read(cls, path: Path) -> WordPieces:
        """A vocabulary from a file with a piece in each line."""
        lines = path.read_text(encoding="utf-8").splitlines()
        return cls({piece: number for number, piece in enumerate(lines)})

    def tokens(self, text: str, most: int) -> list[int]:
        """The tokens of a text between [CLS] and [SEP], `most` of them at most."""
        found = [number for word in words(text) for number in self._pieces(word)]
        return [self.numbers["[CLS]"], *found[: most - 2], self.numbers["[SEP]"]]

    def _pieces(self, word: str) -> list[int]:
        """The longest known pieces of a word from the left; the unknown token if there are none."""
        found: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self.numbers), None)
            if end is None or len(word) > _LONGEST_WORD:
                return [self.numbers["[UNK]"]]
            found.append(self.numbers[prefix + word[start:end]])
            start = end
        return found


def words(text: str) -> Iterator[str]:
    """The words of a text in small letters without accents; marks of punctuation are words."""
    word = ""
    for letter in unicodedata.normalize("NFD", text.lower()):
        kind = unicodedata.category(letter)
        if kind == "Mn" or (kind.startswith("C") and letter not in "\t\n\r"):
            continue
        if letter.isspace() or _is_mark(letter, kind):
            if word:
                yield word
            word = ""
            if not letter.isspace():
                yield letter
        else:
            word += letter
    if word:
        yield word


def _is_mark(letter: str, kind: str) -> bool:
    """Whether a letter is a word by itself: punctuation, all of ASCII's, and ideographs."""
    ascii_mark = letter.isascii() and not letter.isalnum() and not letter.isspace()
    return ascii_mark or kind.startswith("P") or "\u4e00" <= letter <= "\u9fff"
