"""The memory that native code of networks finds by offsets."""

from __future__ import annotations

import re
from ctypes import c_int64

import pytest

from tandem.runtime.native import network_state
from tandem.runtime.native.network_state import Failure, NetworkState, state_version


def test_places() -> None:
    """Every field has eight bytes."""
    names = [name for name, *_ in NetworkState._fields_]
    assert [getattr(NetworkState, name).offset for name in names] == [
        8 * at for at in range(len(names))
    ]
    assert (names[0], names[8], names[14], names[-1]) == ("slots", "last", "failure", "cells")
    assert [each.value for each in Failure] == [1, 2, 3]


def test_versions_follow_from_names_and_places(monkeypatch: pytest.MonkeyPatch) -> None:
    before = state_version()
    assert re.fullmatch("[0-9a-f]{64}", before)
    assert state_version() == before

    other = type("Other", (NetworkState,), {"_fields_": (("more", c_int64),)})
    monkeypatch.setattr(network_state, "NetworkState", other)
    assert state_version() != before
