"""Which files of a folder an earlier run has made, and the list of files."""

from __future__ import annotations

from pathlib import Path

from tandem.hw.config_files import dump_config, load_config
from tandem.hw.header import c_header
from tandem.hw.rtl.verilog import GENERATED, VerilogDesign
from tandem.workbench.verilog_files import companions, generated_files

HEAD = f"// tandem: {GENERATED}, configuration tiny.\n"


def test_files_that_an_earlier_run_made(tmp_path: Path) -> None:
    contents = {
        "own.v": HEAD,
        "long.v": "/" * (1024 - len(HEAD.encode())) + HEAD,
        # The mark is not in the first 1024 bytes, not in the first line, or not of Verilog.
        "longer.v": "/" * (1024 - len(GENERATED) + 1) + GENERATED,
        "second.v": f"\n{HEAD}",
        "theirs.v": "// a module\n",
        "own.sv": HEAD,
        "empty.v": "",
    }
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "folder.v").mkdir()
    assert generated_files(tmp_path) == {"own.v", "long.v"}
    assert generated_files(tmp_path / "missing") == set()


def test_files_beside_the_verilog() -> None:
    tiny = load_config("tiny")
    design = VerilogDesign("b", {"b.v": "", "a.v": ""}, ())
    found = companions(tiny, design)
    assert [*found] == ["config.json", "tandem_registers.h", "tandem.rdl", "lint.vlt", "tandem.f"]
    assert found["tandem.f"] == "b.v\na.v\n"
    assert found["config.json"] == dump_config(tiny)
    assert found["tandem_registers.h"] == c_header(tiny)
    assert "lint" in found["lint.vlt"]
