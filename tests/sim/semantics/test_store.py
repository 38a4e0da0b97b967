"""STOREs whose results are worked out by hand; those of random machines: `test_copies`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.topology import BASE_REGISTERS
from tandem.sim.semantics.chip import make_chip
from tandem.sim.semantics.detail import BUS_WRITE, END_BYTE, FIRST_BYTE, NONE, make_detail
from tandem.sim.semantics.dram import make_dram
from tandem.sim.semantics.requantiser import make_requantiser
from tandem.sim.semantics.store import store, store_out
from tests.support.sim.rows import store_row

TINY = load_config("tiny-x").replace(name="roomy", log_acc_buffer=11)
"""4 outputs, one row; it has an OUT of its own."""
TWO_ROWS = TINY.replace(name="two", log_batch=1, log_block_in=1, log_block_out=1)
"""2 outputs, two rows."""

both = pytest.mark.parametrize("own_out", [False, True], ids=["acc", "out"])


@dataclass(frozen=True)
class Stored:
    """Memory, which was 99 everywhere, and a fault, after a STORE of results 0, 1, 2 and so on."""

    image: list[int]
    fault: int
    row: tuple[int, int]


def stored(config: HardwareConfig, own_out: bool, size: int, **fields: int) -> Stored:
    chip, image, detail = make_chip(config), np.full(size, 99, np.uint8), make_detail()
    requantiser = make_requantiser(config, chip)
    assert requantiser is not None
    lanes = len(chip.acc) // chip.row_out, chip.row_out
    results = np.full(lanes, 77)
    results[:, : chip.block_out] = np.arange(lanes[0] * chip.block_out).reshape(lanes[0], -1)
    # Bits of ACC above the low byte have no meaning.
    chip.acc[:] = results.ravel() - (5 << 8) if not own_out else 66
    requantiser.out[:] = results.ravel() & 0xFF if own_out else 66
    dram = make_dram(image, (0,) * BASE_REGISTERS, (), config)
    row = store_row(config, **fields)
    if own_out:
        fault = store_out(chip, requantiser, dram, row, detail)
    else:
        fault = store(chip, dram, row, detail)
    return Stored(image.tolist(), fault, (int(detail[FIRST_BYTE]), int(detail[END_BYTE])))


@both
def test_rows_lie_a_stride_apart(own_out: bool) -> None:
    places = {"sram_base": 5, "dram_base": 1, "y_size": 2, "x_size": 2, "x_stride": 3}
    found = stored(TINY, own_out, 32, **places)
    assert found.fault == NONE
    assert found.image == [*[99] * 4, *range(20, 28), *[99] * 4, *range(28, 36), *[99] * 8]


@both
def test_elements_of_two_rows(own_out: bool) -> None:
    found = stored(TWO_ROWS, own_out, 16, sram_base=63, dram_base=1, x_size=2)
    assert found.fault == NONE
    # Element 63 has results 252 to 255, and element 64 256 to 259.
    assert found.image == [*[99] * 4, 252, 253, 254, 255, 0, 1, 2, 3, *[99] * 4]


@both
def test_rows_that_overlap_are_written_in_order(own_out: bool) -> None:
    found = stored(TINY, own_out, 12, y_size=2, x_size=2, x_stride=1)
    assert found.image == [0, 1, 2, 3, *range(8, 16)]


@both
def test_memory_that_refuses_a_row_is_not_written(own_out: bool) -> None:
    places = {"y_size": 2, "x_size": 2, "x_stride": 3}
    assert stored(TINY, own_out, 20, **places).fault == NONE
    found = stored(TINY, own_out, 19, **places)
    assert found == Stored([99] * 19, BUS_WRITE, (12, 20))


@both
def test_no_elements_are_stored_anywhere(own_out: bool) -> None:
    assert stored(TINY, own_out, 8, x_size=0, dram_base=100) == Stored([99] * 8, NONE, (0, 0))
