"""The code of a whole network as a value: its bytes, and those that are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tandem.runtime.errors import NativeCodeError
from tandem.runtime.native.network_object import ENTRY, NETWORK, NetworkObject

FIELDS: dict[str, Any] = {
    "triple": "x86_64-unknown-linux-gnu",
    "version": "v",
    "kernels": ["conv", "add"],
    "tensors": ["x", "y"],
    "frame_bytes": 640,
    "results": 3,
    "code": b"\x00\x01",
    "kinds": 5,
}
CODE = NetworkObject(
    "x86_64-unknown-linux-gnu", "v", ("conv", "add"), ("x", "y"), 640, 3, b"\x00\x01", 5
)


def test_bytes() -> None:
    assert msgspec.msgpack.decode(CODE.to_bytes()) == FIELDS
    assert NetworkObject.from_bytes(msgspec.msgpack.encode(FIELDS)) == CODE
    assert NetworkObject.from_bytes(CODE.to_bytes()) == CODE


def test_a_network_without_a_heap() -> None:
    old = {name: value for name, value in FIELDS.items() if name != "kinds"}
    assert NetworkObject.from_bytes(msgspec.msgpack.encode(old)) == replace(CODE, kinds=0)
    assert NetworkObject("", "", (), (), 0, 0, b"").kinds == 0


def test_none_of_what_is_counted() -> None:
    empty = replace(CODE, frame_bytes=0, results=0, kinds=0)
    assert NetworkObject.from_bytes(empty.to_bytes()) == empty


@pytest.mark.parametrize("name", ["frame_bytes", "results", "kinds"])
def test_fewer_than_none_are_refused(name: str) -> None:
    data = msgspec.msgpack.encode({**FIELDS, name: -1})
    with pytest.raises(NativeCodeError, match=r"code of a network with -?\d+ bytes of frames"):
        NetworkObject.from_bytes(data)


@pytest.mark.parametrize("name", ["triple", "kernels", "code"])
def test_other_bytes_are_refused(name: str) -> None:
    for data in (
        msgspec.msgpack.encode({**FIELDS, name: 1}),
        msgspec.msgpack.encode({key: value for key, value in FIELDS.items() if key != name}),
        msgspec.msgpack.encode({**FIELDS, "more": 1}),
        CODE.to_bytes()[:-1],
    ):
        with pytest.raises(NativeCodeError, match="this is no code of a network: "):
            NetworkObject.from_bytes(data)


def test_no_step_runs_it() -> None:
    assert (CODE.reads, CODE.writes, CODE.kind) == ((), (), "network")
    assert ENTRY == "network.run"
    assert "-" in NETWORK
