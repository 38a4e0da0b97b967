"""`runtime.native.processor`: what this processor can do, compared with what LLVM finds."""

from __future__ import annotations

import os
import platform

import pytest

from tandem.base.processor import Host
from tandem.runtime.native import processor
from tandem.runtime.native.processor import available_threads, missing_features, this_triple


def test_what_llvm_finds_is_there() -> None:
    host = Host.detect()
    assert this_triple() == host.triple
    assert missing_features(host.features) == []


@pytest.mark.skipif(platform.machine() != "x86_64", reason="elsewhere LLVM is asked")
def test_what_llvm_does_not_find_is_missing() -> None:
    """Of what code is made of: systems hide other features, and name them differently."""
    absent = [
        name
        for name in Host.detect().absent
        if name.startswith(("avx", "amx", "fma", "sha512", "sm3", "xop"))
    ]
    assert missing_features(absent) == absent


@pytest.mark.skipif(platform.machine() != "x86_64", reason="elsewhere LLVM is asked")
def test_names_of_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = frozenset({"lm", "pni", "sse4_1", "sse41", "abm", "avx512_vnni", "avx512vnni"})
    monkeypatch.setattr(processor, "_linux_flags", lambda: flags)
    assert missing_features(["64bit", "sse3", "sse4.1", "lzcnt", "avx512vnni"]) == []
    assert missing_features(["fma", "sse4.1", "avx2", "rdseed"]) == ["avx2", "fma"]


def test_what_it_is() -> None:
    host = Host.detect()
    assert host == Host.detect()
    assert host.triple.startswith(platform.machine())
    assert host.features == tuple(sorted(host.features))
    assert not set(host.features) & set(host.absent)
    if platform.machine() == "x86_64":
        assert "sse2" in host.features


def test_threads_are_those_that_may_be_used() -> None:
    allowed = os.sched_getaffinity(0)
    one = {min(allowed)}
    try:
        os.sched_setaffinity(0, one)
        assert available_threads() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert available_threads() == len(allowed)
