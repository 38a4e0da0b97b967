"""Exported machines are read again, with their Verilog and their records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tandem.compiler.search.points import with_front
from tandem.compiler.tune.records import Record, read_records
from tandem.compiler.tune.trial import Status
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import DEFAULT_MEMORY
from tandem.scripts.errors import CommandError
from tandem.scripts.search.export import check_export
from tandem.workbench.devices import Accelerator
from tandem.workbench.search.export import export
from tests.support.compiler.search.search_points import OBJECTIVES, point
from tests.support.hw.found_machines import PACKED_FOR_PYNQ

TINY: dict[str, Any] = {
    "log_block_in": 2,
    "log_block_out": 2,
    "log_uop_buffer": 8,
    "log_inp_buffer": 7,
    "log_wgt_buffer": 8,
    "log_acc_buffer": 9,
}


def test_the_front_is_written(tmp_path: Path) -> None:
    found = with_front(
        [point(9, 9.0, **TINY), point(5, 7.0, **TINY), point(8, 8.0, **TINY)], OBJECTIVES
    )
    record = Record(
        tandem="0.1.0",
        target="accelerator",
        machine=Accelerator(found[1].config, DEFAULT_MEMORY).machine_record,
        memory="fast",
        template="conv2d",
        workload={},
        choice={"x": 1},
        status=Status.MEASURED,
        cost=7,
        explorer="xgboost",
        seed=0,
    )
    (folder,) = export(tmp_path, found, {1: [record]})
    assert folder == tmp_path / "01"
    config = load_config(folder / "config.json")
    assert config == found[1].config.replace(name="mine-01")
    names = (folder / "tandem.f").read_text().split()
    assert "module tandem" in (folder / names[0]).read_text()
    assert all((folder / name).exists() for name in names)
    assert json.loads((folder / "point.json").read_text())["cycles"] == 5
    (read,), damages = read_records(folder / "records.jsonl")
    assert not damages
    assert read.machine == Accelerator(config, DEFAULT_MEMORY).machine_record
    # The same again leaves the same.
    export(tmp_path, found, {1: [record]})
    assert len(read_records(folder / "records.jsonl")[0]) == 1


def test_a_machine_with_operations_is_written_with_them(tmp_path: Path) -> None:
    own = {**TINY, "alu_operations": PACKED_FOR_PYNQ, "alu_stages": 4}
    (folder,) = export(tmp_path, with_front([point(5, 7.0, **own)], OBJECTIVES), {})
    config = load_config(folder / "config.json")
    assert (config.alu_operations, config.alu_stages) == (PACKED_FOR_PYNQ, 4)
    told = json.loads((folder / "point.json").read_text())["config"]
    assert told["alu_operations"] == [PACKED_FOR_PYNQ[0].to_json()]
    assert told["alu_stages"] == 4
    files = [folder / name for name in (folder / "tandem.f").read_text().split()]
    assert any("module tandem_custom_units" in file.read_text() for file in files)


@pytest.mark.parametrize("inner", ["01/net.onnx", "01/old/net.onnx", "0123/a/b/net.onnx"])
def test_an_input_within_a_machines_folder_is_refused(tmp_path: Path, inner: str) -> None:
    """However deep: the folder is replaced as a whole."""
    with pytest.raises(CommandError, match="--export would replace the input"):
        check_export(tmp_path, [tmp_path / "net.onnx", tmp_path / inner])


@pytest.mark.parametrize("beside", ["net.onnx", "mine/net.onnx", "1/net.onnx", "../01/net.onnx"])
def test_an_input_beside_the_machines_folders_stays(tmp_path: Path, beside: str) -> None:
    check_export(tmp_path / "front", [tmp_path / "front" / beside])
