"""The program of the testbench: legal on every machine, and right."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.isa import Program
from tandem.sim.engine import Launch
from tandem.sim.engines import make_engine
from tandem.sim.memory import place_program
from tandem.workbench.ip.self_test import self_test_files
from tests.e2e.random_machines import random_machine
from tests.support.sim.streams import memory_of

PRESETS = ("tiny", "tiny-x", "pynq", "batch2", "block4", "big32", "small8-x")
MACHINES = [*map(load_config, PRESETS), *map(random_machine, range(8))]


@pytest.mark.parametrize("config", MACHINES, ids=lambda config: config.name)
def test_the_result_is_the_machines(config: HardwareConfig) -> None:
    files = self_test_files(config)
    memory, begin, count = memory_of(files["self_test.bin"])
    program = Program.from_bytes(config, memory[begin:].tobytes())
    assert len(program) == count
    listing = json.loads(files["self_test_launches.json"])
    data = files[listing["data"]]
    (launch,) = listing["launches"]
    ((given,), (expected,)) = (launch["inputs"], launch["outputs"])
    values = np.frombuffer(data, np.uint8)
    image = memory[:begin].copy()
    image[given["address"] :][: given["bytes"]] = values[given["offset"] :][: given["bytes"]]
    whole, address = place_program(image, program)
    before = whole.copy()
    engine = make_engine("functional", config)
    try:
        engine.launch(program, whole, Launch(address=address))
    finally:
        engine.close()
    output = values[expected["offset"] :][: expected["bytes"]]
    assert (whole[expected["address"] :][: expected["bytes"]] == output).all()
    # The program writes its output and nothing else, and the output is no zeros.
    changed = np.flatnonzero(whole != before)
    assert changed.size
    assert expected["address"] <= changed.min() <= changed.max() < expected["address"] + len(output)
