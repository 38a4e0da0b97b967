"""The writer of a field of a word: checks a value and shifts it into place."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import NoReturn

from tandem.hw.encoding import Field
from tandem.hw.errors import EncodingError


@dataclass(frozen=True, slots=True)
class Writer:
    """A field of one kind of word, with the limits and mask of its `Field` precomputed."""

    word: str
    name: str
    attribute: str
    flag: bool
    lsb: int
    low: int
    high: int
    mask: int

    @staticmethod
    def of(word: str, field: Field) -> Writer:
        """The writer of `field`; `word` names the kind of word in messages."""
        flag, mask = field.kind is bool, (1 << field.width) - 1
        return Writer(word, field.name, field.attribute, flag, field.lsb, *field.limits, mask)

    def bits(self, value: object) -> int:
        """The word with only this field set, to `value`; `EncodingError` if it does not fit."""
        if self.flag:
            if not isinstance(value, bool):
                self._refuse(value, "True or False")
            return int(value) << self.lsb
        try:
            number = index(value)  # type: ignore[arg-type]  # a TypeError is the check
        except TypeError:
            self._refuse(value, "a whole number")
        if not self.low <= number <= self.high:
            raise out_of_range_error(f"{self.word} {self.name}", number, (self.low, self.high))
        return (number & self.mask) << self.lsb

    def _refuse(self, value: object, wanted: str) -> NoReturn:
        raise EncodingError(f"{self.word} {self.name} is {value!r}: it must be {wanted}") from None


def out_of_range_error(what: str, value: int, limits: tuple[int, int]) -> EncodingError:
    """The error about a value that does not fit its field; `limits` are `Field.limits`."""
    low, high = limits
    return EncodingError(f"{what} is {value}: it must lie in {low}..{high}")
