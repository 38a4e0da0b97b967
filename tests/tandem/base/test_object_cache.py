"""Objects are made once; whatever happens to their files, the right one comes back."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tandem.base import object_cache
from tandem.base.errors import CacheError
from tandem.base.object_cache import ObjectCache

PARTS = ("0.44", "x86_64", "text")


class Maker:
    """Makes an object, and counts how often."""

    def __init__(self, code: bytes) -> None:
        self.code = code
        self.calls = 0

    def __call__(self) -> bytes:
        self.calls += 1
        return self.code


def files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


def test_once(tmp_path: Path) -> None:
    maker = Maker(b"code")
    cache = ObjectCache(tmp_path / "objects")
    assert [cache.object_of(PARTS, maker) for _ in range(3)] == [b"code"] * 3
    assert maker.calls == 1
    assert ObjectCache(tmp_path / "objects").object_of(PARTS, maker) == b"code"
    assert maker.calls == 1


@pytest.mark.parametrize("other", [("0.45", *PARTS[1:]), (*PARTS[:2], "text "), (*PARTS, ""), ()])
def test_other_parts_are_another_object(tmp_path: Path, other: tuple[str, ...]) -> None:
    cache = ObjectCache(tmp_path)
    cache.object_of(PARTS, Maker(b"one"))
    assert cache.object_of(other, Maker(b"other")) == b"other"
    assert cache.object_of(PARTS, Maker(b"wrong")) == b"one"


def cut(content: bytes) -> bytes:
    return content[:-1]


def flipped(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


def flipped_digest(content: bytes) -> bytes:
    return bytes([content[0] ^ 1]) + content[1:]


@pytest.mark.parametrize("damage", [cut, flipped, flipped_digest, lambda _: b""])
def test_damage_is_mended(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    cache, maker = ObjectCache(tmp_path), Maker(b"some code")
    cache.object_of(PARTS, maker)
    (file,) = files(tmp_path)
    file.write_bytes(damage(file.read_bytes()))
    assert [cache.object_of(PARTS, maker) for _ in range(2)] == [b"some code"] * 2
    assert maker.calls == 2


def test_a_cache_that_cannot_be_used_costs_time_alone(tmp_path: Path) -> None:
    root, maker = tmp_path / "file", Maker(b"code")
    root.write_text("no folder")
    assert [ObjectCache(root).object_of(PARTS, maker) for _ in range(2)] == [b"code"] * 2
    assert maker.calls == 2
    assert root.read_text() == "no folder"


def test_a_folder_in_an_objects_place(tmp_path: Path) -> None:
    cache, maker = ObjectCache(tmp_path), Maker(b"code")
    cache.object_of(PARTS, maker)
    (file,) = files(tmp_path)
    file.unlink()
    file.mkdir()
    assert cache.object_of(PARTS, maker) == b"code"


def test_an_error_keeps_nothing(tmp_path: Path) -> None:
    def refuses() -> bytes:
        raise CacheError("no")

    with pytest.raises(CacheError):
        ObjectCache(tmp_path).object_of(PARTS, refuses)
    assert not files(tmp_path)


def test_the_latest_used_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_cache, "MOST_IN_FOLDER", 3)
    # All in one folder.
    monkeypatch.setattr(object_cache, "content_key", lambda part: f"00{part}")
    cache = ObjectCache(tmp_path)
    for time, name in enumerate("abc"):
        cache.object_of((name,), Maker(name.encode()))
        os.utime(tmp_path / "00" / name, (time, time))
    # Now `a` is the latest used, and `b` the oldest.
    cache.object_of(("a",), Maker(b"a"))
    cache.object_of(("d",), Maker(b"d"))
    assert sorted(file.name for file in files(tmp_path)) == ["a", "c", "d"]


def test_many_threads(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path)
    names = [str(number % 7) for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda name: cache.object_of((name,), lambda: name.encode()), names)
        assert [*found] == [name.encode() for name in names]
