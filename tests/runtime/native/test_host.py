"""The machine that this runs on."""

from __future__ import annotations

import os
import platform

from tandem.runtime.native import Host
from tandem.runtime.native.host import available_threads


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
