"""The tutorial's code runs and prints what the tutorial shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import ScheduleError
from tandem.compiler.machines.accelerator.intrinsics.base import immediate
from tandem.hw.operations import AluOp

TEXT = (Path(__file__).parents[2] / "docs" / "accelerator.md").read_text()
BLOCKS = re.findall(r"```(python)?\n(.*?)```", TEXT, re.DOTALL)
CODE = [block for kind, block in BLOCKS if kind]
SHOWN = [block for kind, block in BLOCKS if not kind]


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for block in CODE:
        exec(compile(block, "docs/accelerator.md", "exec"), found)
    return found


def lines(text: str) -> int:
    return sum(bool(line.strip()) for line in text.splitlines())


def test_it_is_short() -> None:
    """An operator from scratch, its schedule and its runs, in under forty lines."""
    assert lines(CODE[0]) + lines(CODE[1]) < 40


def test_the_result(names: dict[str, Any]) -> None:
    a, b = (names["values"][each].astype(np.int64) for each in ("a", "b"))
    np.testing.assert_array_equal(names["on_chip"], np.clip(a + b, -128, 127))
    assert names["result"].cycles > 0


def test_what_is_printed(names: dict[str, Any]) -> None:
    dump = names["stream"].dump()
    program, commands, instructions = SHOWN[:3]
    assert program.rstrip("\n") == dump["out: lowered"].rstrip("\n")
    assert dump["commands"].startswith(commands.rstrip("\n") + "\n")
    assert dump["instructions"].startswith(instructions.rstrip("\n") + "\n")


def test_the_instruction_gives_the_same_stream(names: dict[str, Any]) -> None:
    assert names["same"].program == names["stream"].program


def test_the_refusal(names: dict[str, Any]) -> None:
    wrong = immediate(names["machine"], AluOp.MAX, 0)
    with pytest.raises(ScheduleError) as caught:
        names["plain"].tensorize("high", "j", wrong.function)
    assert str(caught.value) == SHOWN[3].strip()
