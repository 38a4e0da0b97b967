"""`tandem search --operations`: machines with operations of their own among those of a space."""

from __future__ import annotations

import json
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tandem.compiler.search.operations_axis import FIELDS
from tandem.compiler.search.space import parse_space
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import dump_config, load_config, parse_config
from tandem.hw.custom_gates import lane_gates
from tandem.hw.errors import ConfigError
from tandem.hw.memory_model import DEFAULT_MEMORY
from tandem.scripts.cli import app
from tandem.workbench.devices import Accelerator
from tandem.workbench.models import ModelOptions, prepared_network
from tests.support.hw.found_machines import FOUND_FOR_SMALL8, PACKED_FOR_PYNQ

SPACE: dict[str, Any] = {
    "base": "small8",
    "fields": {
        "features": [[], ["requantise", "input_operands"]],
        "longest_burst": [8, 64],
    },
}
PACKED: dict[str, Any] = {"alu_operations": PACKED_FOR_PYNQ, "alu_stages": 4}
CENTER = load_config("small8").replace(name="mine", longest_burst=8, **PACKED)
"""A machine of the space."""
TWO: dict[str, Any] = {"alu_operations": FOUND_FOR_SMALL8, "alu_stages": 4}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a space, and two machines as `tandem discover -o` writes them."""
    folder = tmp_path_factory.mktemp("operations")
    (folder / "mine.json").write_text(json.dumps(SPACE))
    (folder / "one.json").write_text(dump_config(load_config("pynq").replace(**PACKED)))
    (folder / "two.json").write_text(dump_config(load_config("small8").replace(**TWO)))
    return folder


def search(folder: Path, *arguments: str) -> dict[str, Any]:
    url = f"sqlite:///{folder / 'studies.db'}"
    options = ["--space", str(folder / "mine.json"), "--budget", "40", "--jobs", "1"]
    options += ["--config", "small8", "--storage", url, "--json"]
    result = CliRunner().invoke(app, ["search", "digits", *options, *arguments])
    assert result.exit_code == 0, result.stderr
    made: dict[str, Any] = json.loads(result.stdout)
    return made


@pytest.fixture(scope="module")
def found(files: Path) -> dict[str, Any]:
    (files / "center.json").write_text(dump_config(CENTER))
    machines = [f"--operations={files / name}" for name in ("one.json", "two.json")]
    return search(files, *machines, "--around", str(files / "center.json"))


@cache
def figures() -> dict[HardwareConfig, int]:
    """Every machine that can be built, put together field by field; and the cycles of the network's
    artifact on it, with the host's code and all data, as `tandem run` has them."""
    made = {}
    for names, own in product(SPACE["fields"]["features"], ({}, PACKED, TWO)):
        values = {**json.loads(dump_config(load_config("small8"))), "features": names}
        try:
            one = parse_config(json.dumps(values), "a machine").replace(name="mine", **own)
        except ConfigError:
            continue
        accelerator = Accelerator(one, DEFAULT_MEMORY)
        artifact = accelerator.build(prepared_network("digits", ModelOptions(), accelerator))
        for burst in SPACE["fields"]["longest_burst"]:
            machine = one.replace(longest_burst=burst)
            made[machine] = Accelerator(machine, DEFAULT_MEMORY).cycles(artifact)
    return made


def test_it_is_what_trying_all_machines_finds(found: dict[str, Any]) -> None:
    points = {parse_config(json.dumps(one["config"]), "it"): one for one in found["points"]}
    assert {machine: point["cycles"] for machine, point in points.items()} == figures()
    # One opcode is free beside both extensions, so that two operations do not fit.
    assert len(points) == len(found["points"]) == 2 * 3 + 2 * 2
    for machine, point in points.items():
        plain = points[machine.replace(alu_operations=(), alu_stages=1)]
        more = machine.acc_lanes * lane_gates(machine).nand2
        assert point["area"] == pytest.approx(plain["area"] + more, abs=1)
    costs = {(point["cycles"], point["area"]) for point in points.values()}
    front = {
        one
        for one in costs
        if not any(other != one and other[0] <= one[0] and other[1] <= one[1] for other in costs)
    }
    shown = [point for point in points.values() if point["front"]]
    assert {(point["cycles"], point["area"]) for point in shown} == front
    assert any("alu_operations" in point["config"] for point in shown)


def test_what_operations_bring(found: dict[str, Any]) -> None:
    explained = found["explain"]
    assert parse_config(json.dumps(explained["center"]["config"]), "it") == CENTER
    steps = {(*step["fields"], step["step"]): step for step in explained["steps"]}
    without, other = (steps[(*FIELDS, step)]["point"] for step in ("down", "up"))
    assert "alu_operations" not in without["config"]
    assert without["cycles"] > explained["center"]["cycles"]
    assert without["area"] < explained["center"]["area"]
    names = [operation["name"] for operation in other["config"]["alu_operations"]]
    assert names == [operation.name for operation in FOUND_FOR_SMALL8]


def test_the_same_operations_in_other_files_are_known(
    files: Path, found: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what they are: nothing is measured again, whatever else the machine of the file has."""

    def refuse(*arguments: object) -> None:
        raise AssertionError("a machine is measured")

    monkeypatch.setattr("tandem.workbench.search.run.times_of", refuse)
    (tmp_path / "other.json").write_text(dump_config(load_config("tiny").replace(**PACKED)))
    machines = [f"--operations={tmp_path / 'other.json'}", f"--operations={files / 'two.json'}"]
    again = search(files, *machines, "--storage", f"sqlite:///{tmp_path / 'studies.db'}")
    assert again["points"] == found["points"]


def test_a_space_has_them_as_a_field(files: Path, found: dict[str, Any]) -> None:
    """The same search, from a file with everything."""
    fields = SPACE["fields"] | {
        "alu_operations,alu_stages": [
            [[], 1],
            *(
                [[operation.to_json() for operation in own["alu_operations"]], own["alu_stages"]]
                for own in (PACKED, TWO)
            ),
        ]
    }
    (files / "all").mkdir()
    path = files / "all" / "mine.json"
    path.write_text(json.dumps(SPACE | {"fields": fields}))
    assert parse_space(path.read_text(), "mine").size == 12
    again = search(files, "--space", str(path))
    assert again["points"] == found["points"]


REFUSED: list[tuple[str, Any, str]] = [
    ("absent", None, "absent.json' is neither a preset"),
    ("garbage", "{", "garbage.json: not a JSON text"),
    ("unknown", {"alu_operation": []}, "unknown key 'alu_operation'"),
    (
        "wrong",
        {"alu_operations": [{"name": "XOR", "result": "a @ b"}]},
        "alu_operations: operation XOR: 'a @ b' is no",
    ),
    ("plain", {}, "plain.json: the machine plain has no alu_operations to offer"),
    (
        "many",
        {"alu_operations": [one.to_json() for one in FOUND_FOR_SMALL8]},
        "many.json has 2 alu_operations: machines of the space narrow have opcodes for 1 at most",
    ),
]


@pytest.mark.parametrize(("name", "content", "message"), REFUSED, ids=[one[0] for one in REFUSED])
def test_refusals(name: str, content: Any, message: str, tmp_path: Path) -> None:
    """In one line, before anything is searched."""
    path, space = tmp_path / f"{name}.json", tmp_path / "narrow.json"
    fields = {**SPACE["fields"], "features": SPACE["fields"]["features"][1:]}
    space.write_text(json.dumps(SPACE | {"fields": fields}))
    if content is not None:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    url = f"sqlite:///{tmp_path / 'studies.db'}"
    arguments = ["search", "digits", "--space", str(space), "--operations", str(path)]
    result = CliRunner().invoke(app, [*arguments, "--budget", "1", "--storage", url])
    assert result.exit_code == 1
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "studies.db").exists()


def test_a_file_is_not_replaced(files: Path) -> None:
    """The machine that offers operations is an input."""
    page = files / "one.html"
    page.write_text((files / "one.json").read_text())
    arguments = ["search", "digits", "--operations", str(page), "--report", str(page)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert "--report would replace the input" in result.stderr
