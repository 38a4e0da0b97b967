"""The tutorial's code runs, gives what NumPy gives, and prints what the tutorial shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from tandem.compiler.te import Schedule
from tandem.scripts.bench.blur import blur, box_filter, scheduled

TEXT = (Path(__file__).parents[2] / "docs" / "blur.md").read_text()
BLOCKS = re.findall(r"```(python)?\n(.*?)```", TEXT, re.DOTALL)


def run() -> dict[str, Any]:
    names: dict[str, Any] = {}
    for kind, block in BLOCKS:
        if kind:
            exec(compile(block, "docs/blur.md", "exec"), names)
    return names


def test_the_result() -> None:
    names = run()
    np.testing.assert_array_equal(names["blurred"], blur(names["pixels"]))


def test_what_is_printed() -> None:
    names = run()
    shown = [block.strip() for kind, block in BLOCKS if not kind]
    assert shown == [str(Schedule.of(names["blury"])).strip(), str(names["schedule"]).strip()]


def test_the_benchmark_measures_this_program() -> None:
    names = run()
    assert scheduled(box_filter(1024)).program == names["schedule"].program
