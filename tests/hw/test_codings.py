"""The field `coding` of LOAD."""

from __future__ import annotations

import pytest

from tandem.hw.codings import CODING_BITS, TABLE_ENTRIES, Coding
from tandem.hw.errors import ConfigError
from tandem.hw.weight_formats import BINARY, FORMATS, INT4, MXFP4, TERNARY, WeightFormat


def test_every_value_of_the_field_has_a_meaning() -> None:
    assert [int(coding) for coding in Coding] == [*range(1 << CODING_BITS)]
    assert TABLE_ENTRIES == 1 << max(coding.bits for coding in Coding)


def test_every_format_with_a_name_has_a_coding() -> None:
    assert [Coding.of(weights).bits for weights in FORMATS] == [weights.bits for weights in FORMATS]
    assert Coding.of(INT4) is Coding.of(MXFP4) is Coding.BITS_4_SCALED
    assert (Coding.of(TERNARY), Coding.of(BINARY)) == (Coding.BITS_2, Coding.BITS_1)
    assert Coding.of(WeightFormat("plain", 4, (0,) * 16)) is Coding.BITS_4


def test_scales_of_narrow_codes_are_refused() -> None:
    with pytest.raises(ConfigError, match="format own: scales with codes of 2 bits"):
        Coding.of(WeightFormat("own", 2, (0, 1, 2, 3), scaled=True))
