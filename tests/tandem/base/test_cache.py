"""The cache: whole entries or none, whoever builds, is killed, or meddles."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.base.cache import Build, ContentCache, content_key, default_cache
from tandem.base.errors import CacheError

TIMEOUT = 30


def building(log: Path, seconds: float, text: str = "thing") -> Build:
    """A build that notes in `log` that it ran."""

    def build(work: Path) -> Sequence[Path]:
        with log.open("a") as file:
            file.write("built\n")
        time.sleep(seconds)
        (work / "rest").write_text("of the build")
        (work / "made").write_text(text)
        return [work / "made"]

    return build


def use(root: Path, log: Path, seconds: float) -> None:
    entry = ContentCache(root).entry("key", building(log, seconds))
    assert (entry / "made").read_text() == "thing"


def count(log: Path) -> int:
    return log.read_text().count("built") if log.exists() else 0


def test_builds_once(tmp_path: Path) -> None:
    for _ in range(3):
        use(tmp_path / "cache", tmp_path / "log", 0)
    assert count(tmp_path / "log") == 1
    entry = tmp_path / "cache" / "key"
    assert sorted(path.name for path in entry.iterdir()) == ["made", "manifest.json"]


def test_a_lookup_builds_nothing(tmp_path: Path) -> None:
    cache = ContentCache(tmp_path / "cache")
    assert cache.lookup("key") is None
    assert not (tmp_path / "cache").exists()
    use(tmp_path / "cache", tmp_path / "log", 0)
    assert cache.lookup("key") == tmp_path / "cache" / "key"
    (tmp_path / "cache" / "key" / "made").write_text("other")
    assert cache.lookup("key") is None


def test_two_processes_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    arguments = (tmp_path / "cache", tmp_path / "log", 1.0)
    processes = [context.Process(target=use, args=arguments) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(TIMEOUT)
    assert [process.exitcode for process in processes] == [0, 0]
    assert count(tmp_path / "log") == 1


def test_killed_build_leaves_nothing_that_matters(tmp_path: Path) -> None:
    root, log = tmp_path / "cache", tmp_path / "log"
    script = (
        "from pathlib import Path\n"
        "from tests.tandem.base.test_cache import use\n"
        f"use(Path({str(root)!r}), Path({str(log)!r}), 600)\n"
    )
    repository = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=repository,
        env=os.environ | {"PYTHONPATH": str(repository)},
    )
    deadline = time.monotonic() + TIMEOUT
    while count(log) == 0:
        assert time.monotonic() < deadline, "the build did not start"
        assert process.poll() is None, "the build ended by itself"
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait(TIMEOUT)
    assert list(root.glob(".key-*")), "it was killed in the middle"
    use(root, log, 0)
    assert count(log) == 2
    assert not list(root.glob(".key-*"))


DAMAGES = (
    *("change", "delete", "manifest", "nonsense", "list", "deep", "null", "file", "link", "pipe"),
    *("folder", "scratch"),
)


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_entry_is_built_again(tmp_path: Path, damage: str) -> None:
    root, log = tmp_path / "cache", tmp_path / "log"
    use(root, log, 0)
    made, manifest = root / "key" / "made", root / "key" / "manifest.json"
    match damage:
        case "change":
            made.write_text("other")
        case "delete":
            made.unlink()
        case "manifest":
            manifest.unlink()
        case "nonsense":
            manifest.write_text("{")
        case "list":
            manifest.write_text(json.dumps(["made"]))
        case "deep":
            manifest.write_text("[" * 100_000)
            # What waits for the collector is not to be finalised where the stack is used up.
            gc.collect()
        case "null":
            manifest.write_text('{"made": null, "\\u0000": 1}')
        case "file":
            shutil.rmtree(root / "key")
            (root / "key").write_text("")
        case "link":
            (root / "key").rename(root / "elsewhere")
            (root / "key").symlink_to(root / "missing")
        case "pipe":
            made.unlink()
            os.mkfifo(made)
        case "folder":
            made.unlink()
            made.mkdir()
        case "scratch":
            (root / ".key-scratch").write_text("")
            made.unlink()
    use(root, log, 0)
    use(root, log, 0)
    assert count(log) == 2
    assert not list(root.glob(".key-*"))


def test_failing_build_leaves_no_entry(tmp_path: Path) -> None:
    def fail(work: Path) -> Sequence[Path]:
        (work / "half").write_text("done")
        raise CacheError("no")

    cache = ContentCache(tmp_path)
    with pytest.raises(CacheError, match=r"^no$"):
        cache.entry("key", fail)
    assert [path.name for path in tmp_path.iterdir()] == [".key.lock"]


def test_a_root_that_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match=r"cannot be used: .*TANDEM_CACHE"):
        use(tmp_path / "file", tmp_path / "log", 0)


@given(st.lists(st.text(max_size=3), max_size=4), st.lists(st.text(max_size=3), max_size=4))
def test_keys_tell_lists_of_parts_apart(ours: list[str], theirs: list[str]) -> None:
    assert (content_key(*ours) == content_key(*theirs)) == (ours == theirs)


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANDEM_CACHE", "/some/where")
    assert default_cache() == Path("/some/where")
    monkeypatch.delenv("TANDEM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/shared")
    assert default_cache() == Path("/shared/tandem")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert default_cache() == Path("/home/somebody/.cache/tandem")
