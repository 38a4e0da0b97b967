"""The widener's banks, lanes and cycles, by hand."""

from __future__ import annotations

import pytest

from tandem.hw.codings import Coding
from tandem.hw.config_files import load_config
from tandem.hw.widening import Widening, widening_of

ONE, TWO, FOUR, SCALED = Coding


@pytest.mark.parametrize(
    ("banks", "steps", "fill"),
    [
        (1, (1, 1, 1, 1), (1, 1, 1, 1)),
        (2, (1, 1, 1, 1), (2, 2, 2, 2)),
        (4, (1, 1, 1, 1), (4, 4, 2, 2)),
        (8, (2, 1, 1, 1), (4, 4, 2, 2)),
        (32, (2, 1, 1, 1), (4, 4, 2, 2)),
    ],
)
def test_steps_of_a_beat(banks: int, steps: tuple[int, ...], fill: tuple[int, ...]) -> None:
    """A beat of codes of 1, 2 and 4 bits fills 8, 4 and 2 banks, at most four a cycle."""
    widening = Widening(banks, 1, 16)
    assert tuple(widening.steps(coding) for coding in Coding) == steps
    assert tuple(widening.banks_of_step(coding) for coding in Coding) == fill
    assert widening.word_banks == min(banks, 4)


def test_lanes_and_tables() -> None:
    """Lanes for two banks read 16 entries; those of the other two read four."""
    widening = Widening(4, 1, 16)
    assert widening.narrow_lanes == 16
    assert widening.table_copies == {16: 6, 4: 6}
    assert (Widening(1, 1, 16).narrow_lanes, Widening(2, 1, 16).narrow_lanes) == (0, 0)
    assert Widening(1, 1, 15).table_copies == {16: 5, 4: 0}
    assert Widening(4, 1, 15).narrow_lanes == 15


def test_of_machines() -> None:
    """pynq: blocks of 256 bytes, 8-byte beats, scales of 16 channels of 4 bits; tiny: 16 bytes."""
    assert widening_of(load_config("pynq")) == Widening(32, 1, 16)
    assert widening_of(load_config("tiny")) == Widening(2, 1, 16)
    wide = load_config("tiny").replace(bus_bits=256)
    assert widening_of(wide) == Widening(1, 1, 64)
