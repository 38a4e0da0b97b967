"""Modules of Verilog files, counted, and the table of a design's files."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tandem.scripts.verilog_table import module_lines, print_files
from tests.support.scripts.printed import lines_of

TEXT = """\
// module of_a_comment(
module first(clk);
  input clk;
endmodule
  module \\second[0] ;
  module_of_nobody(
  endmodule
module third
endmodule_of_nobody
  module inner(
endmodule
module open(
"""


def test_modules_and_their_lines() -> None:
    """From the first word to `endmodule`; a module that does not end is none."""
    assert [*module_lines(TEXT)] == [("first", 3), ("second[0]", 3), ("third", 4)]
    assert [*module_lines("")] == []


def test_files_of_a_design(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    design = SimpleNamespace(
        files={"top.v": TEXT, "part.v": "module part(a);\n" + "\n" * 1200 + "endmodule\n"},
        modules=("first", "second", "third", "part"),
    )
    extras: dict[str, str | bytes] = {"notes.txt": "a\nb\n", "data.bin": b"\n\n\n"}
    folder = Path("folder" * 20)
    print_files(folder, cast(Any, design), extras)
    lines = lines_of(capsys)
    assert [line.split() for line in lines[:-1]] == [
        ["file", "module", "lines"],
        ["top.v", "first", "3"],
        ["second[0]", "3"],
        ["third", "4"],
        ["part.v", "part", "1,202"],
        ["notes.txt", "2"],
        ["data.bin"],
    ]
    assert [line.split()[0] for line in lines[:-1] if not line.startswith(" ")] == [
        *("file", "top.v", "part.v", "notes.txt", "data.bin")
    ]
    # However long the folder's name is.
    assert lines[-1].startswith(f"2 Verilog files, 1,214 lines, 4 modules: {folder}/")
