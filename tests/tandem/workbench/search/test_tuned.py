"""Schedules tuned for a machine that a search found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.workbench.devices import Accelerator
from tandem.workbench.measurers.on_cycle import cycles_of
from tandem.workbench.models import ModelOptions, prepared_network
from tandem.workbench.pools.local_pool import LocalPool
from tandem.workbench.search.measure import Network, Task
from tandem.workbench.search.tuned import tune_machine
from tests.support.compiler.frontends.onnx_models import model
from tests.support.hw.found_machines import PACKED_FOR_PYNQ

OPTIONS = ModelOptions(seed=3)


def convolution(folder: Path) -> str:
    """The path of a network with one layer."""
    weight = np.random.default_rng(0).standard_normal((8, 8, 3, 3)).astype(np.float32)
    conv = helper.make_node("Conv", ["x", "w"], ["y"])
    path = str(folder / "conv.onnx")
    onnx.save(model([conv], {"x": (1, 8, 10, 10)}, ["y"], {"w": weight}), path)
    return path


def test_cycles_are_those_of_the_records_or_of_the_default_choices(tmp_path: Path) -> None:
    """A network that is given as faster than its tuned layers stays so."""
    path = convolution(tmp_path)
    config, memory, network = load_config("tiny"), parse_memory("edge"), Network(path, OPTIONS)
    task = Task((network, network), memory, (frozenset(),) * 2, (1, 1))
    shown: list[str] = []
    with LocalPool(cycles_of, 1) as pool:
        found = tune_machine(config, task, [1 << 40, 7], 3, 5, pool, shown.append)
    assert shown == [f"tuning {path}"] * 2
    explored = {(record.explorer, record.seed) for record in found.records}
    assert explored == {("default", 5), ("xgboost", 5)}
    accelerator = Accelerator(config, memory)
    own = prepared_network(path, OPTIONS)
    tuned = accelerator.best_of(found.records)
    assert found.cycles == (tuned.cycles(tuned.build(own)), 7)
    assert found.cycles[0] <= accelerator.cycles(accelerator.build(own))


def test_a_machine_with_operations_gets_the_integers_that_it_asks_for(tmp_path: Path) -> None:
    """Those of other machines would not be computed by its operations."""
    path, memory = convolution(tmp_path), parse_memory("edge")
    config = load_config("tiny").replace(alu_operations=PACKED_FOR_PYNQ, alu_stages=4)
    task = Task((Network(path, OPTIONS),), memory, (frozenset(),), (1,))
    with LocalPool(cycles_of, 1) as pool:
        found = tune_machine(config, task, [1 << 40], 1, 5, pool, lambda step: None)
    accelerator = Accelerator(config, memory)
    tuned = accelerator.best_of(found.records)
    own, plain = (prepared_network(path, OPTIONS, device) for device in (accelerator, None))
    assert found.cycles == (tuned.cycles(tuned.build(own)),)
    assert found.cycles[0] < accelerator.cycles(accelerator.build(plain))
