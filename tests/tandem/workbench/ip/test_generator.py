"""FuseSoC's generator: cores of any configuration, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tandem.hw.config_files import dump_config, load_config
from tandem.workbench.errors import ArgumentValueError
from tandem.workbench.ip.__main__ import generator_folder
from tandem.workbench.ip.generator import generate_core
from tests.support.workbench.benches import fusesoc

_USER = """CAPI=2:
name: me:soc:top:1.0
filesets:
  rtl:
    files: [top.v]
    file_type: verilogSource
    depend: [tandem:generators:accelerator]
generate:
  machine:
    generator: accelerator
    parameters: {config: mine.json}
targets:
  default: &default
    filesets: [rtl]
    generate: [machine]
    toplevel: tandem
  lint:
    <<: *default
    flow: lint
    flow_options: {tool: verilator, verilator_options: [-Wno-lint, -Wno-MULTITOP]}
"""

_MACHINE = dump_config(load_config("tiny").replace(name="mine", log_block_in=3, log_block_out=3))


def request(folder: Path, **changes: Any) -> Path:
    asked = {"gapi": "1.0", "files_root": str(folder), "vlnv": "me:ip:machine:1.0", **changes}
    file = folder / "request.yml"
    file.write_text(yaml.safe_dump(asked))
    return file


def test_a_core_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(_MACHINE)
    made = tmp_path / "made"
    parameters = {"config": "mine.json", "mhz": 50}
    generate_core(str(request(tmp_path, parameters=parameters)), made)
    core = yaml.safe_load((made / "tandem.core").read_text().split("\n", 1)[1])
    assert core["name"] == "me:ip:machine:1.0"
    assert load_config(made / "config.json").block_in == 8
    assert "events" not in (made / "tandem.v").read_text()
    assert "-period 20.000" in (made / "tandem.sdc").read_text()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gapi": "2.0"}, "a request of interface 2.0: 1.0 is known"),
        ({"parameters": {"confg": "tiny"}}, "no parameter confg: there are config, events, mhz"),
        ({"parameters": {"events": 1}}, "events is 1: it must be true or false"),
        ({"parameters": {"mhz": 0}}, "mhz is 0: it must be a number above 0"),
        ({"parameters": {"mhz": True}}, "mhz is True"),
    ],
)
def test_refusals(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentValueError, match=message):
        generate_core(str(request(tmp_path, **changes)), tmp_path / "made")
    assert not (tmp_path / "made").exists()


@pytest.mark.exhaustive
def test_in_fusesoc(tmp_path: Path) -> None:
    user = tmp_path / "user"
    user.mkdir()
    (user / "top.core").write_text(_USER)
    (user / "top.v").write_text("module top; endmodule\n")
    (user / "mine.json").write_text(_MACHINE)
    roots = (user, generator_folder())
    ours = str(Path(__file__).parents[4])
    status, output = fusesoc(tmp_path, roots, "--target=lint", "me:soc:top", PYTHONPATH=ours)
    assert status == 0, output
    assert [*tmp_path.rglob("tandem_accumulator.v")]
