"""The guide's code runs, and says what the guide shows."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler.driver import build
from compiler.errors import WorkerError
from hw.config_files import load_config
from hw.isa import Program
from hw.memory_model import parse_memory
from runtime.artifact import Provenance, StreamCode
from runtime.devices import AcceleratorDevice, CpuDevice, Device
from runtime.executor import Executor
from sim.engines import make_engine, run
from tandem.measurers.on_cycle import cycles_of
from tandem.pools.local_pool import LocalPool

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "extending.md").read_text()
SECTIONS = {part.partition("\n")[0]: part for part in TEXT.split("\n## ")[1:]}
OPERATOR, TUNED, ALU, TARGET = SECTIONS
"""The ALU's code runs after the operator's, in a copy of the product with the ALU's patches."""


def blocks(section: str, kind: str) -> list[str]:
    """The code blocks of a kind in a section."""
    found = re.findall(r"```(\w*)\n(.*?)```", SECTIONS[section], re.DOTALL)
    return [block for named, block in found if named == kind]


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for block in (
        code for section in (OPERATOR, TUNED, TARGET) for code in blocks(section, "python")
    ):
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
    assert getattr(step, "reason", "") == (
        "larger: the accelerator has no schedule template for it"
    )


def test_on_the_rtl(names: dict[str, Any]) -> None:
    engine = make_engine("rtl", load_config("tiny"), parse_memory("fast"))
    try:
        devices: list[Device] = [AcceleratorDevice(engine), CpuDevice(1)]
        given = {"a": names["a"], "b": names["b"]}
        found = Executor(names["artifact"], devices).run(given).outputs["y"]
    finally:
        engine.close()
    np.testing.assert_array_equal(found, np.maximum(names["a"], names["b"]))


def cycles(stream: StreamCode) -> int:
    """The cycles of a stream on the machine of the guide, by another way than the tuner's."""
    config = load_config("tiny")
    program = Program.from_bytes(config, stream.program)
    found = run(config, program, stream.image, engine="cycle")[0].cycles
    assert found is not None
    return found


def test_the_operator_is_tuned(names: dict[str, Any]) -> None:
    """The measured costs are those of streams with the default choice and with the best one."""
    tuned, (faster,) = names["tuned"], names["faster"].streams.values()
    assert (tuned.task.name, tuned.task.template) == ("y", names["machine"].templates[-1])
    assert {record.template for record in names["records"]} == {"larger"}
    assert len(names["records"]) == 1 + 24
    assert cycles(names["stream"]) == tuned.default.cost
    assert cycles(faster) == tuned.certificate.best < tuned.default.cost


def test_the_tuned_operator_computes_the_same(names: dict[str, Any]) -> None:
    engine = make_engine("functional", load_config("tiny"))
    devices: list[Device] = [AcceleratorDevice(engine), CpuDevice(1)]
    given = {"a": names["a"], "b": names["b"]}
    found = Executor(names["faster"], devices).run(given).outputs["y"]
    np.testing.assert_array_equal(found, np.maximum(names["a"], names["b"]))


def test_processes_import_the_template_from_its_module(
    names: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The guide's first blocks, up to the template, as the module of a user.
    module = "\n".join(blocks(OPERATOR, "python")[:2])
    (tmp_path / "operator_of_mine.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    template = import_module("operator_of_mine").LargerOnAlu()
    task = replace(names["tuned"].task, template=template)
    layer = names["measured_on"].layer(task)
    choices = [record.choice for record in names["records"][:3]]
    with LocalPool(cycles_of, 2) as pool:
        found = dict(pool.measure(layer, choices, float("inf")))
    assert [found[at].cost for at in range(3)] == [one.cost for one in names["records"][:3]]


def test_a_template_in_no_module_is_refused_by_processes(names: dict[str, Any]) -> None:
    layer = names["measured_on"].layer(names["tuned"].task)
    message = "cannot be sent to another process: .*LargerOnAlu.*: a template of your own has to"
    with LocalPool(cycles_of, 2) as pool, pytest.raises(WorkerError, match=message):
        next(pool.measure(layer, [names["tuned"].task.default], float("inf")))


def test_the_target_takes_what_fits_and_says_why_not(names: dict[str, Any]) -> None:
    (shown,) = blocks(TARGET, "")
    assert names["reasons"] == {"y": "", "u": shown.strip()}
    steps = {step.name: step for step in names["shared"].manifest.steps}
    assert steps["y"].function == "dsp_dense"
    assert steps["y"].macs == 3 * 100 * 70


def patch(diff: str, root: Path) -> str:
    """Apply a diff of the guide to a file under `root`; returns the file's path."""
    header, *hunks = re.split(r"^@@\n", diff, flags=re.MULTILINE)
    name = header.removeprefix("--- ").strip()
    text = (root / name).read_text()
    for hunk in hunks:
        lines = hunk.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] != "+")
        after = "".join(line[1:] for line in lines if line[0] != "-")
        assert text.count(before) == 1, f"{name} has no such place, or several: {before}"
        text = text.replace(before, after)
    (root / name).write_text(text)
    return name


RUN = """
import hw.operations, json, pathlib, sys
names = {}
for block in json.loads(pathlib.Path(sys.argv[1]).read_text()):
    exec(compile(block, "docs/extending.md", "exec"), names)
print(json.dumps({
    "source": hw.operations.__file__,
    "text": names["text"],
    "images": [memory.tobytes().hex() for memory in names["images"].values()],
    "layers": [layer.operators for layer in names["stream"].layers],
}))
"""


@pytest.mark.every(2)  # What is compiled is the same Python.
@pytest.mark.parametrize("jit", [True, False])
def test_an_alu_operation_takes_three_files(tmp_path: Path, jit: bool) -> None:
    for package in ("hw", "sim", "runtime", "compiler"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    patched = [patch(diff, tmp_path) for diff in blocks(ALU, "diff")]
    assert len(patched) == 3
    code = tmp_path / "blocks.json"
    code.write_text(json.dumps([*blocks(OPERATOR, "python"), *blocks(ALU, "python")]))

    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "TANDEM_JIT": str(int(jit)),
    }
    command = [sys.executable, "-c", RUN, str(code)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    assert not done.returncode, done.stderr
    found = json.loads(done.stdout)
    assert found["source"] == str(tmp_path / "hw" / "operations.py")
    assert re.search(r"ALU +XOR src .*\n.*ALU +XOR 85 ", found["text"])
    functional, rtl = found["images"]
    assert functional == rtl
    assert found["layers"] == [["exclusive_or"]]
