"""The guide's code runs, and says what the guide shows."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler.build import build
from hw.config_files import load_config
from hw.memory_model import parse_memory
from runtime.artifact import Provenance
from runtime.devices import AcceleratorDevice, CpuDevice, Device
from runtime.executor import Executor
from sim.engines import make_engine

TEXT = (Path(__file__).parents[2] / "docs" / "extending.md").read_text()
BLOCKS = re.findall(r"```(python)?\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind, block in BLOCKS:
        if kind:
            exec(compile(block, "docs/extending.md", "exec"), found)
    return found


def test_the_accelerator_does_the_operator(names: dict[str, Any]) -> None:
    assert [layer.operators for layer in names["stream"].layers] == [("larger",)]
    np.testing.assert_array_equal(names["found"], np.maximum(names["a"], names["b"]))


def test_without_its_template_the_host_does_it(names: dict[str, Any]) -> None:
    machine = replace(names["machine"], templates=names["machine"].templates[:-1])
    artifact = build(names["network"], [machine, names["host"]], Provenance("larger"))
    assert not artifact.streams
    (step,) = artifact.manifest.steps
    assert getattr(step, "reason", "") == "no schedule template for larger"


def test_on_the_rtl(names: dict[str, Any]) -> None:
    engine = make_engine("rtl", load_config("tiny"), parse_memory("fast"))
    try:
        devices: list[Device] = [AcceleratorDevice(engine), CpuDevice(1)]
        given = {"a": names["a"], "b": names["b"]}
        found = Executor(names["artifact"], devices).run(given).outputs["y"]
    finally:
        engine.close()
    np.testing.assert_array_equal(found, np.maximum(names["a"], names["b"]))


def test_the_target_takes_what_fits_and_says_why_not(names: dict[str, Any]) -> None:
    (shown,) = [block.strip() for kind, block in BLOCKS if not kind]
    assert names["reasons"] == {"y": "", "u": shown}
    steps = {step.name: step for step in names["shared"].manifest.steps}
    assert steps["y"].function == "dsp_dense"
    assert steps["y"].macs == 3 * 100 * 70
