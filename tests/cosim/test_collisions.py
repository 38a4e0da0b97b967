"""Nobody relies on what a memory gives of the address that is written in the same cycle.

That is what the attribute `no_rw_check` promises to synthesis (`hw.rtl.scratchpad.NO_COLLISIONS`).
Here every such read gives the complement of what was there, in memories with and without it. ACC
and all queues see thousands of them in these programs.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import MEMORY_PRESETS
from tandem.hw.rtl.verilog import VerilogDesign
from tandem.sim.engine import Launch, Stalls
from tandem.sim.memory import place_program
from tandem.sim.rtl.design import verilog_of
from tandem.sim.rtl.engine import RtlEngine
from tests.support.sim.programs import random_program

SEEDS = range(5000, 5024)
LENGTH = 40

_ARRAY = re.compile(r"^  reg (?:\[\d+:0\] )?(\w+) \[", re.M)
_WRITE = re.compile(r"if \(([^)]+)\)\s+(\w+)\[([^\]]+)\](?:\[\d+:\d+\])? <= ")
_READ = re.compile(r"= (\w+)\[([^\]]+)\];")
"""Of block RAM, in a clocked block, or of look-up tables, without a clock."""


def _spoilt(text: str) -> str:
    """The Verilog of a module; each memory complements what it reads where it is written."""
    for array in _ARRAY.findall(text):
        writes = [(enable, at) for enable, name, at in _WRITE.findall(text) if name == array]
        (target,) = {at for _, at in writes}
        (source,) = (at for name, at in _READ.findall(text) if name == array)
        enables = " || ".join(enable for enable, _ in writes)
        collision = f"(({enables}) && {target} == {source})"
        read = f"{array}[{source}]"
        text = text.replace(f"= {read};", f"= {collision} ? ~{read} : {read};")
    return text


def _spoilt_design(config: HardwareConfig) -> VerilogDesign:
    design = verilog_of(config)
    files = {file: _spoilt(text) for file, text in design.files.items()}
    with_memory = {
        file for file, text in design.files.items() if re.search(r"^  reg .*\w \[", text, re.M)
    }
    assert {file for file in files if files[file] != design.files[file]} == with_memory
    assert len(with_memory) > 8
    return VerilogDesign(design.top, files, design.modules)


@pytest.mark.parametrize(
    ("name", "acc_read_ports"),
    [("tiny", 2), pytest.param("small8", 1, marks=pytest.mark.exhaustive)],
)
def test_reads_of_what_is_written(name: str, acc_read_ports: int) -> None:
    config = load_config(name).replace(acc_read_ports=acc_read_ports)
    design = _spoilt_design(config)
    machines = [RtlEngine(config, memory, design=design) for memory in MEMORY_PRESETS.values()]
    for seed in SEEDS:
        drawn = random_program(config, seed, LENGTH)
        memory, address = place_program(drawn.image, drawn.program)
        repetition, place = divmod(seed, len(machines))
        stalls = Stalls(0.3, seed) if repetition % 2 else None
        how = Launch(address=address, stalls=stalls, max_cycles=10_000_000)
        machines[place].launch(drawn.program, memory, how)
        np.testing.assert_array_equal(
            memory[: len(drawn.image)], drawn.expected, err_msg=f"{name}, seed {seed}"
        )
