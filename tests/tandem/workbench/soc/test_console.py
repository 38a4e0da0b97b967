"""What firmware says is read as a run, or refused."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.workbench.errors import SocError
from tandem.workbench.export.header import Header
from tandem.workbench.soc.console import read_console
from tests.support.compiler.models.digits import digits

LAUNCHING = (False, False, True, False)
END = "simulated 1234 cycles in 0.50 s\n"


@cache
def header() -> Header:
    """The header of `digits` on an accelerator: four steps, an output of ten elements."""
    with TemporaryDirectory() as folder:
        return digits("tiny-x").export(Path(folder) / "digits").header


def expected() -> dict[str, np.ndarray]:
    return {"output": np.arange(1, 11, dtype=np.float32)}


def console(steps: tuple[int, ...], equal: int, words: np.ndarray | None = None) -> str:
    lines = [f"load 9\nfirst 700\nrun {sum(steps) + 5}\nzeros 600\nalone {sum(steps)}\n"]
    lines.append(f"machine {steps[2] - 1}\n")
    lines += [f"step {cycles}\n" for cycles in steps]
    lines.append(f"equal {equal}\n")
    if words is not None:
        lines += [f"word {bits}\n" for bits in words.astype(np.float32).view(np.uint32)]
    return "".join(lines)


@given(st.tuples(*[st.integers(1, 10**6)] * 4))
def test_parts_add_up(steps: tuple[int, ...]) -> None:
    run = read_console(console(steps, 10) + END, header(), LAUNCHING, expected())
    assert run.is_right
    assert (run.launches, run.configuration) == (steps[2] - 1, 1)
    assert run.kernels == steps[0] + steps[1] + steps[3]
    assert run.firmware == 5
    assert (run.simulated, run.seconds, run.load, run.first) == (1234, 0.5, 9, 700)
    assert run.alone == run.total - 5


def test_reals_may_be_rounded_otherwise() -> None:
    found = expected()["output"] * np.float32(1 + 1e-6)
    run = read_console(console((1, 2, 3, 4), 3, found) + END, header(), LAUNCHING, expected())
    assert run.is_right
    assert 0 < run.outputs[0].error < 1e-5


@pytest.mark.parametrize("words", [None, expected()["output"] + 1])
def test_others_are_wrong(words: np.ndarray | None) -> None:
    run = read_console(console((1, 2, 3, 4), 0, words) + END, header(), LAUNCHING, expected())
    assert not run.is_right
    assert run.outputs[0].equal == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        console((1, 2, 3, 4), 10),
        "load 3\nfailed: no machine at these addresses\nfault 0\n" + END,
        console((1, 2, 3), 10) + END,
    ],
)
def test_firmware_that_did_not_end_is_refused(text: str) -> None:
    with pytest.raises(SocError, match="the firmware did not end as it should; it said:"):
        read_console(text, header(), LAUNCHING, expected())
