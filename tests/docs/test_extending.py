"""The guide's code runs, and says what the guide shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from typer.testing import CliRunner, Result

from tandem.compiler.driver import build
from tandem.compiler.errors import WorkerError
from tandem.hw.config_files import load_config
from tandem.hw.isa import Program
from tandem.hw.memory_model import parse_memory
from tandem.runtime.artifact import (
    Kept,
    Move,
    Provenance,
    StreamCode,
    from_bytes,
    streams_of,
    to_bytes,
)
from tandem.runtime.devices import AcceleratorDevice, CpuDevice, Device
from tandem.runtime.errors import ArtifactError, RunError
from tandem.runtime.executor import Executor
from tandem.scripts.cli import app
from tandem.sim.engines import make_engine, run
from tandem.workbench.measurers.on_cycle import cycles_of
from tandem.workbench.pools.local_pool import LocalPool
from tests.support.compiler.graph.graphs import graph
from tests.support.packages import copy_source

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "extending.md").read_text()
SECTIONS = {part.partition("\n")[0]: part for part in TEXT.split("\n## ")[1:]}
OPERATOR, TUNED, ALU, FIELD, REGISTER, MACHINE = SECTIONS
"""The ALU's code runs after the operator's."""


def blocks(section: str, kind: str) -> list[str]:
    """The code blocks of a kind in a section."""
    found = re.findall(r"```(\w*)\n(.*?)```", SECTIONS[section], re.DOTALL)
    return [block for named, block in found if named == kind]


def executed(sections: Sequence[str], names: dict[str, Any]) -> dict[str, Any]:
    """The names after the code of some sections."""
    for block in (code for section in sections for code in blocks(section, "python")):
        exec(compile(block, "docs/extending.md", "exec"), names)
    return names


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    return executed((OPERATOR, TUNED), {})


@pytest.fixture(scope="module")
def machine(names: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The names after the machine's section, whose files are a package in a folder of its own."""
    folder = tmp_path_factory.mktemp("of_mine")
    *files, use = blocks(MACHINE, "python")
    for text in files:
        path = folder / text.partition("\n")[0].removeprefix("# ")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert len(files) == 4
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(folder)
        found = dict(names)
        exec(compile(use, "docs/extending.md", "exec"), found)
    return found


def test_the_accelerator_does_the_operator(names: dict[str, Any]) -> None:
    assert [layer.operators for layer in names["stream"].layers] == [("larger",)]
    np.testing.assert_array_equal(names["found"], np.maximum(names["a"], names["b"]))


def test_without_its_template_the_host_does_it(names: dict[str, Any]) -> None:
    machine = replace(names["machine"], templates=names["machine"].templates[:-1])
    artifact = build(names["network"], [machine, names["host"]], Provenance("larger"))
    assert not streams_of(artifact)
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
    tuned, (faster,) = names["tuned"], streams_of(names["faster"]).values()
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


def test_three_machines_share_a_network(machine: dict[str, Any]) -> None:
    """Each in a layout of its own; the values are NumPy's."""
    given, run = machine["given"], machine["run"]
    high = np.maximum(np.minimum(given["x"], given["y"]), given["z"])
    sides = ((0, 0), (0, 0), (1, 1), (1, 1))
    windows = sliding_window_view(np.pad(high, sides, constant_values=-128), (3, 3), (2, 3))
    np.testing.assert_array_equal(run.outputs["pooled"], windows.max((4, 5)))
    np.testing.assert_array_equal(run.outputs["wide"], np.maximum(given["z"], given["v"]))
    devices = {step.operators[0]: step.device for step in machine["stored"].manifest.steps}
    assert devices == {
        **{"convert": "cpu", "minimum": "vector"},
        **{"maximum": "cpu", "max_pool": "accelerator"},
    }
    blocked = {str(tensor) for tensor in machine["stored"].manifest.tensors}
    assert {"int8[1, 9, 7, 3, 8]", "int8[1, 5, 9, 7, 1, 4]"} <= blocked


def test_the_host_does_what_a_machine_refuses_and_says_why(machine: dict[str, Any]) -> None:
    (shown,) = blocks(MACHINE, "")
    assert machine["reasons"]["wide"] == shown.strip()


def test_a_value_stays_in_the_machines_memory(machine: dict[str, Any]) -> None:
    """Of three operands of either step, one is not copied."""
    tensors = {tensor.name: tensor for tensor in machine["stored"].manifest.tensors}
    steps = {step.name: step for step in machine["run"].profile.steps}
    (kept,) = (name for name, each in tensors.items() if isinstance(each.place, Kept))
    assert kept == "low_blocks"
    size, vectors = tensors[kept].bytes, tensors[kept].bytes // 8
    own = [step.run for step in steps.values() if step.device == "vector"]
    # An instruction takes the three vectors of a pixel.
    assert [each.cycles for each in own] == [2 * vectors // 3 + vectors] * 2
    assert [each.copied for each in own] == [2 * size] * 2
    watched = Executor(machine["stored"], machine["devices"]).run(machine["given"], watch=[kept])
    low = np.minimum(machine["given"]["x"], machine["given"]["y"])
    found = watched.watched[kept].reshape(1, 9, 7, 24).transpose(0, 3, 1, 2)[:, :20]
    np.testing.assert_array_equal(found, low)


LOOP = """
func @loop(n: int64[], x: IMAGE, y: IMAGE) -> IMAGE:
  go = greater(n, int64[](0))
  r = if go:
    m = subtract(n, int64[](1))
    low = minimum(x, y)
    high = maximum(low, x)
    z = subtract(high, y)
    next = @loop(m, z, y)
    yield next
  else:
    yield x
  return r

func @main(n: int64[], x: IMAGE, y: IMAGE) -> IMAGE:
  r = @loop(n, x, y)
  return r
"""


def test_a_value_stays_there_in_each_iteration_of_a_loop(machine: dict[str, Any]) -> None:
    loop = graph(LOOP.replace("IMAGE", machine["IMAGE"]))
    looped = build(loop, machine["targets"], Provenance("loop"))
    places = {tensor.name: tensor.place for tensor in looped.manifest.tensors}
    assert [name for name, place in places.items() if isinstance(place, Kept)] == [
        "loop.low_blocks"
    ]
    given = {"n": np.array(5), "x": machine["given"]["x"], "y": machine["given"]["y"]}
    found = Executor(looped, machine["devices"]).run(given).outputs
    wanted = given["x"]
    for _ in range(5):
        wanted = np.maximum(np.minimum(wanted, given["y"]), wanted) - given["y"]
    (array,) = found.values()
    np.testing.assert_array_equal(array, wanted)


def test_no_instruction_but_steps_reads_what_stays_there(machine: dict[str, Any]) -> None:
    loop = graph(LOOP.replace("IMAGE", machine["IMAGE"]))
    looped = build(loop, machine["targets"], Provenance("loop"))
    (moved,) = (
        instruction.source
        for function in looped.manifest.functions
        for instruction in function.instructions
        if isinstance(instruction, Move) and instruction.source.endswith("z")
    )
    tensors = tuple(
        msgspec.structs.replace(tensor, place=Kept("cpu")) if tensor.name == moved else tensor
        for tensor in looped.manifest.tensors
    )
    manifest = msgspec.structs.replace(looped.manifest, tensors=tensors)
    with pytest.raises(ArtifactError, match=f"{moved} stays on a device, and is no operand of"):
        replace(looped, manifest=manifest)


def test_the_host_alone_computes_the_same(machine: dict[str, Any]) -> None:
    build_again = partial(build, machine["three"], machine["targets"], Provenance("three"))
    fallback = build_again(fallback=True)
    assert {step.device for step in fallback.manifest.steps} == {"cpu"}
    whole = replace(machine["shared"], fallback=fallback)
    assert whole.fallback is fallback
    found = Executor(fallback, [CpuDevice(1)]).run(machine["given"]).outputs
    for name, array in machine["run"].outputs.items():
        np.testing.assert_array_equal(found[name], array)


def test_who_does_not_know_the_machine_says_so(machine: dict[str, Any]) -> None:
    data = to_bytes(machine["shared"])
    message = (
        "its code maximum is of the kind vector; what can be read is network, object, pool, stream"
    )
    with pytest.raises(ArtifactError, match=message):
        from_bytes(data)
    with pytest.raises(RunError, match="low_blocks needs the device vector; there are: "):
        Executor(machine["stored"], [CpuDevice(1)])
    steps = tuple(
        msgspec.structs.replace(step, device="cpu") if step.device == "vector" else step
        for step in machine["stored"].manifest.steps
    )
    manifest = msgspec.structs.replace(machine["stored"].manifest, steps=steps)
    with pytest.raises(ArtifactError, match="low_blocks is on cpu, and low_blocks stays in the"):
        replace(machine["stored"], manifest=manifest)


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


def patched_product(section: str, root: Path) -> set[str]:
    """A copy of the product under `root`, with the patches of a section; the files patched."""
    copy_source(root, without=("scripts",))
    return {patch(diff, root) for diff in blocks(section, "diff")}


def output_of(command: Sequence[str], root: Path, jit: bool) -> str:
    """What a command prints that runs the copy of the product under `root`."""
    environment = {**os.environ, "PYTHONPATH": str(root), "TANDEM_JIT": str(int(jit))}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def own_operations(names: dict[str, Any]) -> dict[str, Any]:
    """The names after the code of the ALU's section."""
    (machine,) = blocks(ALU, "json")
    return executed((ALU,), {**names, "JSON": machine})


def test_an_alu_operation_takes_no_file(own_operations: dict[str, Any]) -> None:
    text = own_operations["text"]
    assert re.search(r"ALU +XOR src .*\n.*ALU +XOR 85 .*\n.*ALU +CLIP src shift 20 low -100 ", text)
    assert [layer.operators for layer in own_operations["stream"].layers] == [("exclusive_or",)]


def test_operations_of_the_guide_on_verilog(own_operations: dict[str, Any]) -> None:
    """By Verilator, in as many cycles."""
    names = own_operations
    result, memory = run(names["config"], names["program"], names["image"], engine="rtl")
    cycle, wanted = names["runs"]["cycle"]
    assert result.cycles == cycle.cycles
    np.testing.assert_array_equal(memory, wanted)


@pytest.mark.exhaustive
def test_a_file_with_operations_is_all_it_takes(tmp_path: Path) -> None:
    """The guide's JSON: Verilog, all engines and the compiler take it, for a whole network."""
    (text,) = blocks(ALU, "json")
    machine = tmp_path / "own.json"
    machine.write_text(text)
    assert text.count("\n") <= 12
    verilog = invoked("rtl", "--config", str(machine), "-o", str(tmp_path / "verilog"))
    assert verilog.exit_code == 0, verilog.stderr
    (units,) = (tmp_path / "verilog").glob("*custom_units*.v")
    assert "results_1" in units.read_text()
    run = partial(invoked, "run", "digits", "--check", "--json", "--engine")
    told = {
        name: json.loads(run(name, "--config", str(machine)).stdout)
        for name in ("functional", "cycle", "rtl")
    }
    assert all(each["check"]["equal"] for each in told.values())
    assert told["rtl"]["cycles"] == told["cycle"]["cycles"]
    base = json.loads(run("cycle", "--config", "tiny").stdout)
    # CLIP does what several passes do.
    assert told["cycle"]["cycles"] < base["cycles"]


def invoked(*arguments: str) -> Result:
    """What a command does."""
    return CliRunner().invoke(app, [*arguments])


@pytest.mark.every(2)  # What is compiled is the same Python.
@pytest.mark.parametrize("jit", [True, False])
def test_a_field_of_an_instruction_takes_five_files(tmp_path: Path, jit: bool) -> None:
    assert len(patched_product(FIELD, tmp_path)) == 5
    (code,) = blocks(FIELD, "python")
    tells = "import tandem.hw\nprint(tandem.hw.__file__)\n"

    source = output_of([sys.executable, "-c", code + tells], tmp_path, jit)

    assert source.strip() == str(tmp_path / "tandem" / "hw" / "__init__.py")


def test_a_field_of_a_register_takes_one_file(tmp_path: Path) -> None:
    assert len(patched_product(REGISTER, tmp_path)) == 1
    (code,) = blocks(REGISTER, "python")
    tells = "import tandem.hw\nprint(tandem.hw.__file__)\n"

    source = output_of([sys.executable, "-c", code + tells], tmp_path, jit=True)

    assert source.strip() == str(tmp_path / "tandem" / "hw" / "__init__.py")
