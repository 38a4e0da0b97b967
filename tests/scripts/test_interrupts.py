"""An interruption that Python drops comes again."""

from __future__ import annotations

import signal
import sys
from time import sleep

import pytest

from scripts.interrupts import lasting_interrupts


class Interrupted:
    """Whoever throws it away is interrupted in the middle of that."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def throw_it_away() -> None:
    with lasting_interrupts():
        made = Interrupted()
        del made
        sleep(60)


def test_out_of_a_finaliser() -> None:
    with pytest.raises(KeyboardInterrupt):
        throw_it_away()


class Broken:
    def __del__(self) -> None:
        raise ValueError("something else")


def test_other_errors_go_where_they_went(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: seen.append(dropped.exc_type))
    hook = sys.unraisablehook
    with lasting_interrupts():
        made = Broken()
        del made
    assert seen == [ValueError]
    assert sys.unraisablehook is hook
