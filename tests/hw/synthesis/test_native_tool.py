"""A native program in place of a wheel's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.hw.synthesis.errors import SynthesisError
from tandem.hw.synthesis.nextpnr import (
    Device,
    Placement,
    Workplace,
    native_nextpnr,
    place_netlist,
)


def script(path: Path, text: str) -> Path:
    """A program that is a script of the shell."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_its_version_is_what_it_says_and_which_file_it_is(tmp_path: Path) -> None:
    say = 'echo "nextpnr-ecp5 (Version 0.11.1)"'
    first = native_nextpnr(script(tmp_path / "first", say)).version()
    assert first.startswith("nextpnr-ecp5 (Version 0.11.1), ")
    # Another build of the same version may round otherwise, so that routes are kept apart.
    assert native_nextpnr(script(tmp_path / "other", say + " # other")).version() != first
    assert native_nextpnr(script(tmp_path / "same", say)).version() == first


def test_it_runs_in_the_folder_with_the_options(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    tool = native_nextpnr(script(tmp_path / "tool", 'echo "$@" > said; echo one; echo two >&2'))
    lines: list[str] = []
    tool.run(("--seed", "3"), folder, tmp_path, lines.append)
    assert (folder / "said").read_text() == "--seed 3\n"
    assert sorted(lines) == ["one\n", "two\n"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo no space >&2; exit 3", "tool failed with status 3; it ended with:\nno space"),
        ("echo yosys 0.70", "tool is no nextpnr: it says 'yosys 0.70'"),
    ],
)
def test_another_program_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SynthesisError) as caught:
        native_nextpnr(script(tmp_path / "tool", text)).version()
    assert str(caught.value).endswith(message)


@pytest.mark.parametrize(
    "written",
    [
        "",
        "echo '{' > report.json",
        "echo '[1]' > report.json",
        'printf \'{"fmax": "\\377"}\' > report.json',
    ],
)
def test_a_report_that_cannot_be_read(tmp_path: Path, written: str) -> None:
    tool = native_nextpnr(script(tmp_path / "tool", written or ":"))
    folder = tmp_path / "work"
    folder.mkdir()
    netlist = tmp_path / "netlist.json"
    netlist.write_text("{}")
    how, place = Placement(Device.ECP5_12, 6, 1), Workplace(folder, tmp_path)
    with pytest.raises(SynthesisError, match="nextpnr's report cannot be read"):
        place_netlist("one", netlist, how, place, nextpnr=tool)


def test_a_program_that_cannot_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SynthesisError, match="absent cannot be run: No such file"):
        native_nextpnr(tmp_path / "absent").version()
    (tmp_path / "plain").write_text("text")
    with pytest.raises(SynthesisError, match="plain cannot be run: Permission denied"):
        native_nextpnr(tmp_path / "plain").version()
    (tmp_path / "broken").write_text("text")
    (tmp_path / "broken").chmod(0o755)
    with pytest.raises(SynthesisError, match="broken cannot be run: Exec format error"):
        native_nextpnr(tmp_path / "broken").version()
