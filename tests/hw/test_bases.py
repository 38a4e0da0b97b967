"""Base registers: what they may hold, and which bits of an address a machine has."""

from __future__ import annotations

import pytest

from tandem.hw.bases import address_mask, bases_by_memory, check_bases
from tandem.hw.config import HardwareConfig
from tandem.hw.errors import EncodingError

CONFIG = HardwareConfig()


def test_bases_are_seven_multiples_of_an_element_in_62_bits() -> None:
    check_bases(CONFIG, (4, 256, 16, 64, 16, (1 << 62) - 16, 128))
    with pytest.raises(EncodingError, match="6 base registers: there are 7"):
        check_bases(CONFIG, (0,) * 6)
    with pytest.raises(EncodingError, match="of WGT is 128: it must be a multiple of 256"):
        check_bases(CONFIG, (0, 128, 0, 0, 0, 0, 0))
    with pytest.raises(EncodingError, match="of UOP is -4"):
        check_bases(CONFIG, (-4, 0, 0, 0, 0, 0, 0))
    with pytest.raises(EncodingError, match=r"of ACC_8BIT is 4611686018427387904: .*2\^62-1"):
        check_bases(CONFIG, (0, 0, 0, 0, 0, 1 << 62, 0))


def test_codes_count_from_the_base_of_weights() -> None:
    assert bases_by_memory((1, 2, 3, 4, 5, 6, 7)) == (1, 2, 3, 4, 5, 6, 7, 2)


def test_addresses_have_as_many_bits_as_the_machine_and_fit_int64() -> None:
    assert address_mask(CONFIG.replace(address_bits=32)) == 0xFFFF_FFFF
    assert address_mask(CONFIG.replace(address_bits=64)) == (1 << 63) - 1
