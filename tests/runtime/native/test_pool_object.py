"""The code of thread pools as a value: its bytes, how it is made, and where it is not."""

from __future__ import annotations

import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from tandem.base import processor
from tandem.runtime.errors import NativeCodeError
from tandem.runtime.native.elf import parse_object
from tandem.runtime.native.pool_object import (
    POOL,
    PoolObject,
    make_pool_object,
    pool_version,
)
from tandem.runtime.native.pool_text import pool_text

TRIPLE = "x86_64-unknown-linux-gnu"
CODE = PoolObject(TRIPLE, "v", b"\x00\x01")


def test_bytes() -> None:
    fields = {"triple": TRIPLE, "version": "v", "code": b"\x00\x01"}
    assert msgspec.msgpack.decode(CODE.to_bytes()) == fields
    assert PoolObject.from_bytes(msgspec.msgpack.encode(fields)) == CODE
    assert PoolObject.from_bytes(CODE.to_bytes()) == CODE


@pytest.mark.parametrize(
    "fields",
    [
        {"triple": TRIPLE, "version": "v"},
        {"triple": TRIPLE, "version": 1, "code": b""},
        {"triple": TRIPLE, "version": "v", "code": b"", "more": 1},
    ],
)
def test_other_bytes_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(NativeCodeError, match="this is no code of a thread pool: "):
        PoolObject.from_bytes(msgspec.msgpack.encode(fields))
    with pytest.raises(NativeCodeError, match="this is no code of a thread pool: "):
        PoolObject.from_bytes(CODE.to_bytes()[:-1])


def test_no_step_runs_it() -> None:
    assert (CODE.reads, CODE.writes, CODE.kind) == ((), (), "pool")
    assert "-" in POOL


def test_versions_are_those_of_the_program() -> None:
    for triple in (TRIPLE, "aarch64-unknown-linux-gnu"):
        assert pool_version(triple) == sha256(pool_text(triple).encode()).hexdigest()


def test_it_is_made_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TANDEM_CACHE", str(tmp_path))
    found = make_pool_object(TRIPLE)
    assert (found.triple, found.version) == (TRIPLE, pool_version(TRIPLE))
    assert {"launch", "help", "dismiss"} <= parse_object(found.code).symbols.keys()

    def refuse(*_: object) -> bytes:
        raise AssertionError("it is in the cache")

    monkeypatch.setattr(processor, "object_of_text", refuse)
    assert make_pool_object(TRIPLE) == found


def test_the_program_is_optimised(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = []

    def make(text: str, triple: str, level: int) -> bytes:
        asked.append((text, triple, level))
        return b"code"

    monkeypatch.setenv("TANDEM_CACHE", str(tmp_path))
    monkeypatch.setattr(processor, "object_of_text", make)
    assert make_pool_object(TRIPLE) == replace(CODE, version=pool_version(TRIPLE), code=b"code")
    # Each triple has an object of its own in the cache.
    make_pool_object("aarch64-unknown-linux-gnu")
    assert asked == [
        (pool_text(triple), triple, 2) for triple in (TRIPLE, "aarch64-unknown-linux-gnu")
    ]


def test_without_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    with pytest.raises(NativeCodeError, match=r"parallel loops need LLVM \(pip install llvmlite\)"):
        make_pool_object(TRIPLE)


def test_a_processor_that_llvm_does_not_know(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TANDEM_CACHE", str(tmp_path))
    with pytest.raises(NativeCodeError, match="LLVM makes no thread pool for abacus-none: "):
        make_pool_object("abacus-none")
