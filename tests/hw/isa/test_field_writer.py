"""A field's bits in a word, and values that do not fit it."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.hw.encoding import Field
from tandem.hw.errors import EncodingError
from tandem.hw.isa.field_writer import Writer, out_of_range_error

SIGNED = Writer.of("ALU", Field("imm", 8, 4, signed=True, attribute="imm"))
PLAIN = Writer.of("LOAD", Field("memory_type", 7, 3, attribute="memory"))
FLAG = Writer.of("GEMM", Field("reset_reg", 7, 1, kind=bool, attribute="reset"))


@pytest.mark.parametrize(("value", "bits"), [(-8, 0x800), (-1, 0xF00), (0, 0), (7, 0x700)])
def test_signed_numbers_are_twos_complement(value: int, bits: int) -> None:
    assert SIGNED.bits(value) == bits


@pytest.mark.parametrize(("value", "bits"), [(0, 0), (5, 5 << 7), (7, 7 << 7), (np.int64(6), 768)])
def test_numbers_without_a_sign(value: int, bits: int) -> None:
    assert PLAIN.bits(value) == bits
    assert PLAIN.attribute == "memory"


@pytest.mark.parametrize(
    ("writer", "value", "limits"),
    [
        (SIGNED, 8, r"ALU imm is 8: it must lie in -8\.\.7"),
        (SIGNED, -9, r"ALU imm is -9: it must lie in -8\.\.7"),
        (PLAIN, 8, r"LOAD memory_type is 8: it must lie in 0\.\.7"),
        (PLAIN, -1, r"LOAD memory_type is -1: it must lie in 0\.\.7"),
        (PLAIN, 1.0, r"LOAD memory_type is 1\.0: it must be a whole number"),
        (FLAG, 1, r"GEMM reset_reg is 1: it must be True or False"),
    ],
)
def test_what_does_not_fit(writer: Writer, value: object, limits: str) -> None:
    with pytest.raises(EncodingError, match=f"^{limits}$"):
        writer.bits(value)


def test_flags() -> None:
    assert (FLAG.bits(True), FLAG.bits(False)) == (128, 0)


def test_error_of_a_value_out_of_range() -> None:
    assert str(out_of_range_error("micro-op dst", 9, (0, 7))) == (
        "micro-op dst is 9: it must lie in 0..7"
    )
