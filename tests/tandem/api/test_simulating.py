"""Arguments of `tandem.simulate` that are refused before anything runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tandem
from tandem.api.simulating import _stalls, _waveform
from tandem.hw.config_files import load_config
from tandem.hw.isa import Finish, Program
from tandem.sim.engine import Stalls
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError

PROGRAM = Program.from_instructions(load_config("tiny"), [Finish()])
IMAGE = np.zeros(64, np.uint8)


def test_stalls() -> None:
    assert _stalls(0, 3) is None
    assert _stalls(0.0, 3) is None
    assert _stalls(0.99, 3) == Stalls(0.99, 3)
    for part in (-0.1, 1, 0.991):
        with pytest.raises(
            ArgumentValueError, match=f"^stalls is {part}: it must be a number from"
        ):
            _stalls(part, 0)
    for other in (True, "0.5"):
        with pytest.raises(
            ArgumentTypeError, match=r"^stalls is .*: it must be a number from 0 to"
        ):
            _stalls(other, 0)


def test_waveforms() -> None:
    assert _waveform(None) is None
    assert _waveform("a/b.fst") == Path("a/b.fst")
    assert _waveform(Path("b.vcd")) == Path("b.vcd")
    with pytest.raises(ArgumentValueError, match=r"^b\.json: a waveform ends in \.fst or \.vcd$"):
        _waveform("b.json")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"image": None},
            "image is None: a raw program runs on a memory image, which only an artif",
        ),
        ({"engine": "fast"}, "no engine 'fast': there are functional, cycle, rtl, pysim"),
        ({"compare": "fast"}, "no engine 'fast': there are functional, cycle, rtl, pysim"),
        ({"compare": "cycle"}, "engine and compare are both cycle: name two engines"),
        ({"max_cycles": 0}, "max_cycles is 0: it must be 1 or more"),
        ({"seed": -1}, "seed is -1: it must be 0 or more"),
        ({"fill": 256}, "fill is 256: it must be a byte, 0 to 255"),
        ({"fill": -1}, "fill is -1: it must be 0 or more"),
        ({"address": -1}, "address is -1: it must be 0 or more"),
        ({"address": 16}, "the program's 16 bytes at address 0x10 would overwrite the image"),
    ],
)
def test_values_that_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentValueError, match=f"^{re.escape(message)}"):
        tandem.simulate(PROGRAM, **{"image": IMAGE, **arguments})
