"""The time that a search has taken, by the clock that is its own."""

from __future__ import annotations

from time import monotonic

from tandem.workbench.search.stopwatch import Stopwatch


def test_seconds_since_the_begin() -> None:
    before = monotonic()
    now = Stopwatch()
    first = now.seconds
    assert 0 <= first <= now.seconds <= monotonic() - before
    earlier = Stopwatch(before - 1000).seconds
    assert 1000 <= earlier <= monotonic() - before + 1000


def test_limits() -> None:
    watch = Stopwatch(monotonic() - 1000)
    assert watch.reached(999)
    assert watch.reached(1000)
    assert not watch.reached(2000)
    assert not watch.reached(None)
    # A limit of no time is over at once.
    assert Stopwatch().reached(0)
