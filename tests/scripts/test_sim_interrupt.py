"""Ctrl-C in the middle of a run, on a terminal that shows how far it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.isa import Assembler, Loop, MicroOp, pack_uops
from tandem.hw.topology import MemoryId
from tests.support.scripts.terminal import interrupted

TINY = load_config("tiny")
LONGEST_LOOP = 16383


def _endless(folder: Path) -> None:
    """A program that takes minutes on any engine, and its image."""
    asm = Assembler(TINY)
    asm.load(MemoryId.UOP, sram=0, dram=0, columns=1)
    for _ in range(1000):
        asm.gemm((0, 1), [Loop(LONGEST_LOOP), Loop(LONGEST_LOOP)])
    asm.finish()
    image = np.zeros(64, dtype=np.uint8)
    image[:4] = np.frombuffer(pack_uops(TINY, [MicroOp(dst=0)]), dtype=np.uint8)
    (folder / "program.bin").write_bytes(asm.build().data)
    (folder / "image.bin").write_bytes(image.tobytes())


@pytest.mark.parametrize(
    "options",
    [
        pytest.param([], marks=pytest.mark.exhaustive),
        ["--engine", "rtl", "--waveform", "wave.fst", "--trace", "timeline.json"],
    ],
)
def test_it_leaves_no_file_and_one_line(options: list[str], tmp_path: Path) -> None:
    _endless(tmp_path)
    verb = ["sim", "program.bin", "--image", "image.bin", "--config", "tiny", "-o", "after.bin"]
    verb += options
    assert interrupted(verb, b"steps", tmp_path) == b""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["image.bin", "program.bin"]
