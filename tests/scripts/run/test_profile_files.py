"""`--report` and `--trace`: what is refused before a run, and what is said of the files."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tandem.scripts.errors import CommandError
from tandem.scripts.model_options import DeviceName
from tandem.scripts.run import profile_files
from tandem.scripts.run.profile_files import ProfileFiles

ACCELERATOR = DeviceName.ACCELERATOR


def test_paths_that_are_not_given() -> None:
    files = ProfileFiles(None, None)
    files.check(DeviceName.CPU, "functional")
    assert files.options == []
    assert files.written == []
    files.write_trace(None)  # type: ignore[arg-type]
    files.write_page(None)  # type: ignore[arg-type]


def test_options_and_what_they_write() -> None:
    report, trace = Path("a.html"), Path("b.json")
    both = ProfileFiles(report, trace)
    assert both.options == ["--report", "--trace"]
    assert both.written == [
        "a.html: open it in a browser",
        "b.json: open it in ui.perfetto.dev",
    ]
    assert ProfileFiles(report, None).options == ["--report"]
    assert ProfileFiles(None, trace).options == ["--trace"]
    assert ProfileFiles(None, trace).written == both.written[1:]


def test_paths_that_can_be_written(tmp_path: Path) -> None:
    both = ProfileFiles(tmp_path / "a.html", tmp_path / "b.json")
    both.check(ACCELERATOR, "cycle")
    ProfileFiles(tmp_path / "a.html", None).check(ACCELERATOR, "functional")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("report", "trace", "device", "engine", "message"),
    [
        ("a.htm", None, ACCELERATOR, "cycle", "a.htm: --report writes a file that ends in .html"),
        (None, "a.html", ACCELERATOR, "cycle", "a.html: --trace writes a file that ends in .json"),
        ("a.html", "b.txt", ACCELERATOR, "cycle", "b.txt: --trace writes a file"),
        (
            "a.html",
            None,
            DeviceName.CPU,
            "cycle",
            "--report shows the accelerator: not with --device cpu",
        ),
        (
            None,
            "a.json",
            DeviceName.OPENCL,
            "cycle",
            "--trace shows the accelerator: not with --device opencl",
        ),
        (
            None,
            "a.json",
            ACCELERATOR,
            "functional",
            "--trace needs cycles: the functional engine has no time",
        ),
    ],
)
def test_refusals(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    report: str | None,
    trace: str | None,
    device: DeviceName,
    engine: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    files = ProfileFiles(report and Path(report), trace and Path(trace))  # type: ignore[arg-type]
    with pytest.raises(CommandError, match=f"^{re.escape(message)}"):
        files.check(device, engine)


@pytest.mark.parametrize("name", ["a.html", "a.json"])
def test_a_folder_that_is_not_there(tmp_path: Path, name: str) -> None:
    path = tmp_path / "none" / name
    report, trace = (path, None) if name == "a.html" else (None, path)
    with pytest.raises(OSError, match="none"):
        ProfileFiles(report, trace).check(ACCELERATOR, "cycle")


@dataclass
class Result:
    cycles: int | None


@dataclass
class Stream:
    """A stream of a run, as far as its timeline needs it."""

    result: Result
    program: str


@dataclass
class Profile:
    streams: list[Stream] = field(default_factory=list)


@dataclass
class Run:
    profile: Profile


def test_the_timeline_is_of_the_longest_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Any] = []
    monkeypatch.setattr(profile_files, "write_timeline", lambda *given: written.append(given))
    monkeypatch.setattr(profile_files, "labels_of", lambda stream: f"labels of {stream.program}")
    streams = [Stream(Result(cycles), f"p{cycles}") for cycles in (None, 7, 30, 12)]
    path = tmp_path / "a.json"
    run: Any = Run(Profile(streams))
    ProfileFiles(None, path).write_trace(run)
    assert written == [(path, streams[2].result, "p30", "labels of p30")]
    ProfileFiles(path, None).write_trace(run)
    assert len(written) == 1
