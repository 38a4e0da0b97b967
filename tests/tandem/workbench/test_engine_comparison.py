"""`--compare` of `tandem sim` and `tandem run`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import DEFAULT_MEMORY, MEMORY_PRESETS, MemoryModel
from tandem.scripts.cli import app
from tandem.sim import engines
from tandem.sim.cycle.engine import CycleEngine
from tandem.sim.engine import Bytes, Engine, Launch
from tests.support.compiler.models.models import convolution
from tests.support.sim.programs import random_program

TINY = load_config("tiny")


def tandem(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture
def program(tmp_path: Path) -> tuple[object, ...]:
    """`tandem sim` of a random program."""
    drawn = random_program(TINY, 3, 40)
    (tmp_path / "program.bin").write_bytes(drawn.program.data)
    (tmp_path / "image.bin").write_bytes(drawn.image.tobytes())
    image = tmp_path / "image.bin"
    return ("sim", tmp_path / "program.bin", "--image", image, "--config", "tiny")


@pytest.fixture
def network(tmp_path: Path) -> tuple[object, ...]:
    """`tandem run` of a convolution between steps of the CPU."""
    return ("run", convolution(tmp_path / "net.onnx"), "--config", "tiny")


@pytest.fixture(params=["program", "network"])
def command(request: pytest.FixtureRequest) -> tuple[object, ...]:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, tuple)
    return found


class Slower(CycleEngine):
    """A cycle engine under another name."""

    name = "pysim"


@pytest.fixture
def slower(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes `pysim` a cycle engine with a slower memory."""
    make_engine = engines.make_engine

    def made(name: str, config: HardwareConfig, model: MemoryModel = DEFAULT_MEMORY) -> Engine:
        if name == "pysim":
            return Slower(config, MEMORY_PRESETS["edge"])
        return make_engine(name, config, model)

    monkeypatch.setattr(engines, "make_engine", made)


def test_equal_engines(command: tuple[object, ...]) -> None:
    result = tandem(*command, "--compare", "rtl,cycle", "--json")
    assert result.exit_code == 0, result.output
    written = json.loads(result.stdout)
    assert written["compare"] == {"engines": ["rtl", "cycle"], "equal": True, "first": None}
    assert written["engine"] == "rtl"
    alone = json.loads(tandem(*command, "--engine", "cycle", "--json").stdout)
    assert alone["compare"] is None
    assert alone["cycles"] == written["cycles"]


@pytest.mark.parametrize(
    ("names", "verdict"),
    [
        ("cycle,rtl", "cycle and rtl agree: every event, cycle, counter and byte; launches: 1"),
        ("functional,cycle", "functional and cycle agree: every byte; the rest needs two engines"),
    ],
)
def test_the_verdict(command: tuple[object, ...], names: str, verdict: str) -> None:
    result = tandem(*command, "--compare", names)
    assert result.exit_code == 0, result.output
    assert verdict in " ".join(result.stdout.split())


def test_a_difference_is_printed_and_fails(command: tuple[object, ...], slower: None) -> None:
    result = tandem(*command, "--compare", "cycle,pysim", "--json")
    assert result.exit_code == 1
    compared = json.loads(result.stdout)["compare"]
    first = compared.pop("first")
    assert compared == {"engines": ["cycle", "pysim"], "equal": False}
    assert (first["launch"], first["instruction"], first["event"]) == (0, 0, "fetch")
    assert first["text"].startswith("LOAD ")
    assert first["unit"] in ("compute", "load")
    fast, slow = first["values"]
    assert fast < slow
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: cycle and pysim differ at instruction 0")
    assert line.endswith(f": {first['unit']} fetch: {fast} and {slow}")


def test_a_difference_as_a_table(
    command: tuple[object, ...], slower: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # So that nothing folds.
    result = tandem(*command, "--compare", "cycle,pysim")
    assert result.exit_code == 1
    table = result.stdout.split("cycle and pysim differ; the first of each kind:\n")[1]
    head, event, cycles, counter, *_ = (line.split() for line in table.splitlines())
    assert head == ["event", "unit", "instruction", "cycle", "pysim"]
    assert event[:2] in (["fetch", "compute"], ["fetch", "load"])
    assert cycles[0] == "cycles"
    assert "cycles" in counter


def test_a_network_names_the_layer(network: tuple[object, ...], slower: None) -> None:
    first = json.loads(tandem(*network, "--compare", "cycle,pysim", "--json").stdout)["compare"][
        "first"
    ]
    layers = json.loads(tandem(*network, "--json").stdout)["layers"]
    assert first["layer"] in {layer["name"] for layer in layers}


def test_every_launch_of_a_network_is_compared(
    network: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three batches, the second one's launch gives another byte."""
    launches: list[int] = []
    launch = CycleEngine.launch

    def changed(engine: CycleEngine, program: object, memory: Bytes, how: Launch) -> object:
        found = launch(engine, program, memory, how)  # type: ignore[arg-type]
        launches.append(len(launches))
        if len(launches) == 2:
            memory[100] ^= 1
        return found

    monkeypatch.setattr(CycleEngine, "launch", changed)
    np.save(tmp_path / "images.npy", np.ones((3, 3, 8, 8), np.float32))
    arguments = (*network, "--compare", "functional,cycle", "--input", tmp_path / "images.npy")
    result = tandem(*arguments, "--json")
    assert result.exit_code == 1, result.output
    assert json.loads(result.stdout)["compare"]["first"]["launch"] == 1
    launches.clear()
    assert "differ in 1 of 3 launches" in tandem(*arguments).stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--compare", "rtl"], 2, "'rtl' is not two engines, such as rtl,cycle"),
        (["--compare", "rtl,"], 2, "'rtl,' is not two engines"),
        (["--compare", "rtl,cycle,pysim"], 2, "is not two engines"),
        (["--compare", "rtl, rtl"], 2, "'rtl, rtl' is one engine twice: name two"),
        (["--compare", "rtl,steam"], 1, "no engine is called 'steam': there are functional"),
        (["--compare", "steam,rtl"], 1, "no engine is called 'steam'"),
        (["--compare", "rtl,cycle", "--engine", "cycle"], 2, "--engine and --compare: one or the"),
    ],
)
def test_wrong_usage(
    command: tuple[object, ...], arguments: Sequence[str], code: int, message: str
) -> None:
    result = tandem(*command, *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in " ".join(result.stderr.replace("│", "").split())


def test_only_of_the_accelerator(network: tuple[object, ...]) -> None:
    _, model, *_ = network
    result = tandem("run", model, "--device", "cpu", "--compare", "rtl,cycle")
    assert result.stderr == (
        "error: --compare is for --device accelerator: with --device cpu all is on the CPU\n"
    )
    result = tandem("run", model, "--quantize", "none", "--compare", "rtl,cycle")
    assert "error: --compare: nothing of net.onnx is on an accelerator" in result.stderr
