"""Which machines have a requantiser, and how large its memories are."""

from __future__ import annotations

import numpy as np

from tandem.hw.config_files import load_config
from tandem.hw.isa import MemoryId
from tandem.hw.isa.columns import FIELDS
from tandem.sim.semantics.chip import make_chip
from tandem.sim.semantics.requantiser import PARAMETER_ROWS, make_requantiser

TINY = load_config("tiny")
EXTENDED = load_config("tiny-x")


def test_a_machine_without_requantisation_has_none() -> None:
    assert make_requantiser(TINY, make_chip(TINY)) is None


def test_sizes_are_those_of_out_and_par() -> None:
    config = EXTENDED.replace(name="rows", log_batch=1)
    chip = make_chip(config)
    found = make_requantiser(config, chip)
    assert found is not None
    # A row of a block of 4 has 16 entries. PAR has 1024 bytes, of 8 for each of 4 channels.
    assert config.depth(MemoryId.PAR) == 32 == found.par_depth
    assert PARAMETER_ROWS == 3
    assert (found.par.shape, found.par.dtype) == ((32 * 3 * 16,), np.dtype(np.int32))
    assert (found.out.shape, found.out.dtype) == (chip.acc.shape, np.dtype(np.uint8))
    assert (found.block_out, found.row_out) == (4, 16)
    assert found.mode.shape == (FIELDS,)
    assert found.mode.dtype == np.int64
    assert not any(each.any() for each in (found.out, found.par, found.mode))
