"""Tools of wheels, with a module of a few lines in the place of one: versions, caches, outputs."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from tandem.hw.synthesis import yowasp
from tandem.hw.synthesis.errors import SynthesisError
from tandem.hw.synthesis.yowasp import Tool, follow, reporter

MODULE = """
import os, sys
from pathlib import Path

def main(arguments):
    code = Path(os.environ["YOWASP_CACHE_DIR"], "yowasp_toy", "toy.wasm")
    code.mkdir(parents=True, exist_ok=True)
    if arguments == ["--version"]:
        (code / "compiled").write_text("machine code")
        return 0
    print("argument", *arguments)
    print()
    print(os.environ["TMPDIR"] == os.getcwd(), "YOWASP_MOUNT" in os.environ)
    print((code / "compiled").read_text(), file=sys.stderr)
    return len(arguments) - 1
"""
TOY = Tool("Toy", "yowasp-toy", "main", "toy.wasm", "--version")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder, with the module where Python finds it, and the tool's version."""
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "yowasp_toy.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", str(modules))
    monkeypatch.setenv("YOWASP_MOUNT", "/nothing=/nowhere")
    monkeypatch.setattr(yowasp, "version", lambda package: f"1.0 of {package}")
    work = tmp_path / "work"
    work.mkdir()
    return work


def test_a_tool_runs_in_its_folder(folder: Path, tmp_path: Path) -> None:
    """Its code is compiled by the first run, and found by the second in another folder."""
    lines: list[str] = []
    said: list[str] = []
    TOY.run(["one"], folder, tmp_path / "cache", lines.append, said.append)
    assert [line.strip() for line in lines] == ["argument one", "", "True False", "machine code"]
    assert said == ["compiling Toy (once per machine)"]
    assert (folder / "machine_code" / "yowasp_toy" / "toy.wasm").is_symlink()
    again = tmp_path / "again"
    again.mkdir()
    TOY.run(["one"], again, tmp_path / "cache", lines.append, said.append)
    TOY.run(["one"], again, tmp_path / "cache", lines.append, said.append)
    assert len(said) == 1
    assert len([*(tmp_path / "cache" / "toy").iterdir()]) >= 1


def test_a_tool_that_fails(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SynthesisError) as caught:
        TOY.run(["one", "two"], folder, tmp_path / "cache", lambda line: None)
    lines = str(caught.value).splitlines()
    assert lines[0] == "Toy failed with status 1; it ended with:"
    assert lines[1:] == ["argument one two", "True False", "machine code"]


def test_a_wheel_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(yowasp, "version", missing)
    with pytest.raises(
        SynthesisError,
        match=r"^synthesis needs yowasp-toy, which is not installed: pip install 'tandem-workbench",
    ):
        TOY.version()


def test_the_last_lines_of_a_failure(tmp_path: Path) -> None:
    """Six of them, without empty ones; all are watched."""
    lines: list[str] = []
    program = "for i in range(9): print(i, end='  \\n\\n')\nraise SystemExit(4)"
    with pytest.raises(SynthesisError) as caught:
        follow("X", (sys.executable, "-c", program), tmp_path, None, lines.append)
    assert str(caught.value) == "X failed with status 4; it ended with:\n" + "\n".join("345678")
    assert len(lines) == 18
    with pytest.raises(OSError, match="no-such-tool"):
        follow("X", ("/no-such-tool",), tmp_path, None, lines.append)


def test_a_watch_that_raises_ends_the_tool(tmp_path: Path) -> None:
    def watch(line: str) -> None:
        raise KeyError(line)

    program = "import time\nprint(1, flush=True)\ntime.sleep(60)"
    with pytest.raises(KeyError):
        follow("X", (sys.executable, "-c", program), tmp_path, None, watch)


def test_reports_of_lines() -> None:
    said: list[str] = []
    watch = reporter(re.compile(r"Info: (\w+)"), said.append)
    for line in ("Info: Placing now", "nothing", " Info: Routing", "Info: DONE"):
        watch(line)
    assert said == ["placing", "done"]
    reporter(re.compile(r"(.)"), None)("a")
