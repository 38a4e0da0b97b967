"""The golden vectors of `tests/golden/vectors`, as values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import parse_config
from tandem.hw.isa import Program

_FOLDER = Path(__file__).parents[2] / "golden" / "vectors"


@dataclass(frozen=True, slots=True, eq=False)
class GoldenVector:
    """One program with memory before and after it; index == physical address, all bases 0."""

    name: str
    kind: str
    config: HardwareConfig
    program: Program
    before: npt.NDArray[np.uint8]
    after: npt.NDArray[np.uint8]
    portable: bool
    """Whether VTA's hardware runs it too, as far as its authors know."""
    profile: dict[str, int]
    """Bytes and micro-ops. It counts a loaded 8-bit accumulator as 32 bits a lane."""


def vector_names() -> list[str]:
    """Every vector's name, in order."""
    return sorted(path.stem for path in _FOLDER.glob("*.npz"))


def load_vector(name: str) -> GoldenVector:
    """Read one vector."""
    with np.load(_FOLDER / f"{name}.npz", allow_pickle=False) as arrays:
        notes = json.loads(str(arrays["config"]))
        config = parse_config(str(arrays["config"]), name)
        return GoldenVector(
            name=name,
            kind=notes["kind"],
            config=config,
            program=Program.from_bytes(config, arrays["insn"].tobytes()),
            before=arrays["dram_before"],
            after=arrays["dram_after"],
            portable=notes["portable"],
            profile=notes["profile"],
        )
