"""Engines by name."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Assembler
from tandem.hw.memory_model import MEMORY_PRESETS
from tandem.sim.engines import ENGINES, make_engine, run
from tandem.sim.errors import CycleLimitError, EngineError
from tandem.sim.functional import FunctionalEngine
from tests.support.hw.vectors import load_vector


def test_the_functional_engine_is_made_by_name() -> None:
    config = HardwareConfig()

    engine = make_engine("functional", config, MEMORY_PRESETS["edge"])

    assert isinstance(engine, FunctionalEngine)
    assert (engine.config, engine.memory_model) == (config, MEMORY_PRESETS["edge"])


def test_unknown_names_are_refused_with_the_known() -> None:
    with pytest.raises(EngineError, match=r"'verilator': there are " + ", ".join(ENGINES)):
        make_engine("verilator", HardwareConfig())


def test_run_is_one_call_and_leaves_the_image_alone() -> None:
    vector = load_vector("016_gemm_default")
    before = vector.before.copy()

    result, after = run(vector.config, vector.program, vector.before)

    np.testing.assert_array_equal(after, vector.after)
    np.testing.assert_array_equal(vector.before, before)
    assert result.events == ()


def test_run_hands_its_options_on() -> None:
    vector = load_vector("016_gemm_default")

    result, _ = run(vector.config, vector.program, vector.before, address=1 << 20, events=True)
    assert result.events
    with pytest.raises(CycleLimitError):
        run(vector.config, vector.program, vector.before, max_cycles=1)


def test_run_can_fill_the_chip() -> None:
    config = HardwareConfig()
    asm = Assembler(config)
    asm.store(sram=7, dram=0, columns=1)
    asm.finish()

    _, after = run(config, asm.build(), bytes(32), fill=0x5A)

    assert after.tolist() == [0x5A] * 16 + [0] * 16


def test_heavy_packages_wait_until_an_engine_is_made() -> None:
    code = (
        "import sys, sim, tandem.sim.engines, tandem.sim.memory, tandem.sim.result\n"
        "heavy = {'llvmlite', 'amaranth'} & sys.modules.keys()\n"
        "assert not heavy, heavy\n"
    )

    subprocess.run([sys.executable, "-c", code], check=True)
