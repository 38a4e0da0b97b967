"""Bytes that nobody checked: read, or refused in one line, whatever they are."""

from __future__ import annotations

import resource

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import FrontendError
from tandem.compiler.frontends.onnx import import_model, read_model
from tests.support.compiler.frontends.onnx_models import residual

WHOLE = residual().SerializeToString()
PLACES = st.integers(0, len(WHOLE) - 1)
MEMORY = 256 << 10
"""KiB: what a model of a kilobyte may add to the most that the process has had."""


@st.composite
def broken(draw: st.DrawFn) -> bytes:
    """A model cut off, with bytes changed, replaced by others of its own, or left out."""
    data = bytearray(WHOLE)
    for _ in range(draw(st.integers(1, 4))):
        at, other, count = draw(PLACES), draw(PLACES), draw(st.integers(0, 64))
        match draw(st.sampled_from(["byte", "byte", "byte", "cut", "copy", "insert", "remove"])):
            case "byte":
                data[at : at + 1] = bytes([draw(st.integers(0, 255))])
            case "cut":
                del data[at:]
            case "copy":
                data[at : at + count] = WHOLE[other : other + count]
            case "insert":
                data[at:at] = draw(st.binary(max_size=8))
            case _:
                del data[at : at + count]
    return bytes(data)


def most_memory() -> int:
    """The most KiB that this process has had, other tests before included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def survives(data: bytes) -> None:
    said, before = "read", most_memory()
    try:
        import_model(read_model(data))
    except FrontendError as error:
        said = str(error)
    assert said
    assert said.isprintable()
    assert most_memory() - before < MEMORY


@settings(max_examples=200)
@given(broken())
def test_broken_models(data: bytes) -> None:
    survives(data)


@pytest.mark.exhaustive
@settings(max_examples=10_000)
@given(broken())
def test_more_broken_models(data: bytes) -> None:
    survives(data)


@given(st.binary(max_size=200))
def test_noise(data: bytes) -> None:
    survives(data)


@pytest.mark.parametrize("length", range(0, len(WHOLE), 40))
def test_truncated(length: int) -> None:
    """A message cut off is no message, but where one field of the model ends and the next begins:
    what is left of the model then has no version or no graph."""
    with pytest.raises(FrontendError, match="no ONNX model"):
        read_model(WHOLE[:length])
