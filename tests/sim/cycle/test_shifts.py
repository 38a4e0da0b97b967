"""Without data: which shifts by accumulators are known to be in range, and which are not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.isa import AluOp, Assembler, Loop, MemoryId, MicroOp, Program, Unit, pack_uops
from tandem.hw.memory_model import MEMORY_PRESETS
from tandem.sim.cycle.engine import CycleEngine
from tandem.sim.errors import NeedsDataError
from tests.support.sim.launching import launch

CONFIG = load_config("tiny")
UOPS, SMALL, LARGE, RESULT = 0x1000, 0x200, 0x2000, 0x400
DEPTH = CONFIG.depth(MemoryId.ACC)
SIZE = CONFIG.element_bytes(MemoryId.ACC)
IMAGE = 1 << 14
BY = 4
"""Element 0 is shifted by element `BY`."""


Step = Callable[[Assembler], object]


def load(
    dram: int = SMALL,
    *,
    sram: int = 0,
    columns: int = 8,
    rows: int = 1,
    stride: int | None = None,
    pad: int = 0,
) -> Step:
    """Accumulators from DRAM, by default 0 to 7; `pad` zeros behind each row."""
    return lambda asm: asm.load(
        MemoryId.ACC,
        sram=sram,
        dram=dram // SIZE,
        columns=columns,
        rows=rows,
        stride=stride,
        pad=(0, 0, 0, pad),
    )


def add(first: int, count: int) -> Step:
    """Write accumulators `first` and following, `count` of them."""
    return lambda asm: asm.alu(AluOp.ADD, (first, first + 1), (Loop(count, dst=1),), imm=1)


def store(dram: int) -> Step:
    """One element of OUT to an address."""

    def step(asm: Assembler) -> None:
        compute, out = Unit.COMPUTE, dram // CONFIG.element_bytes(MemoryId.OUT)
        asm.nop(compute, signals=Unit.STORE)
        asm.store(sram=0, dram=out, columns=1, waits_for=compute, signals=compute)
        asm.nop(compute, waits_for=Unit.STORE)

    return step


KNOWN: dict[str, tuple[Step, ...]] = {
    "loaded": (load(),),
    "all of ACC": (load(columns=DEPTH),),
    "the last of a row": (load(columns=BY + 1),),
    "the second row": (load(columns=BY, rows=2, stride=8),),
    "padding": (load(columns=BY, pad=1),),
    "another is written": (load(), add(0, BY)),
    "written, then loaded": (add(0, 8), load()),
    "a store elsewhere": (load(), store(RESULT)),
    "a store behind": (load(), store(SMALL + 8 * SIZE)),
    "a store before": (load(), store(SMALL - SIZE)),
}
UNKNOWN: dict[str, tuple[Step, ...]] = {
    "never loaded": (),
    "behind what is loaded": (load(columns=BY),),
    "before what is loaded": (load(sram=BY + 1, columns=4),),
    "large": (load(LARGE),),
    "large after small": (load(), load(LARGE)),
    "the second row is large": (load(columns=BY, rows=2, stride=(LARGE - SMALL) // SIZE),),
    "written": (load(), add(BY, 1)),
    "the last that is written": (load(), add(0, BY + 1)),
    "stored to": (load(), store(SMALL + BY * SIZE)),
}


def program(steps: tuple[Step, ...]) -> Program:
    asm = Assembler(CONFIG)
    asm.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=10)
    for step in steps:
        step(asm)
    asm.alu(AluOp.SHR, (9, 10))
    asm.finish()
    return asm.build()


def image() -> np.ndarray:
    """Amounts in range at `SMALL`, any numbers elsewhere."""
    found = np.random.default_rng(0).integers(0, 256, IMAGE, np.uint8)
    lanes = SIZE // 4
    small = np.resize(np.array([31, -31, 0, 7], "<i4"), (DEPTH, lanes))
    found[SMALL:][: small.nbytes] = small.view(np.uint8).ravel()
    words = pack_uops(CONFIG, [*map(MicroOp, range(9)), MicroOp(0, BY)])
    found[UOPS:][: len(words)] = np.frombuffer(words, np.uint8)
    return found


@pytest.mark.parametrize("case", KNOWN)
def test_known_to_be_in_range(case: str) -> None:
    engine = CycleEngine(CONFIG, MEMORY_PRESETS["fast"])
    assert launch(engine, program(KNOWN[case]), image(), data=False)[0].cycles


@pytest.mark.parametrize("case", UNKNOWN)
def test_not_known(case: str) -> None:
    engine = CycleEngine(CONFIG, MEMORY_PRESETS["fast"])
    with pytest.raises(NeedsDataError, match="shifts by accumulators that depend on data"):
        launch(engine, program(UNKNOWN[case]), image(), data=False)
