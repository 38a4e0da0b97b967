"""Kernels as values: parts that do not fit each other, and bytes that are damaged."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import pytest

from tandem.runtime.artifact.gpu_code import GpuArray, GpuCode, GpuLaunch
from tandem.runtime.errors import ArtifactError


class Kernels(GpuCode, frozen=True):
    """A language of this test alone."""

    kind: ClassVar[str] = "plain"
    language: ClassVar[str] = "plain words"


def array(name: str, *shape: int, dtype: str = "float32") -> GpuArray:
    return GpuArray(name, shape, dtype)


ONE = GpuLaunch("one", 1, 1, ("x", "y", "s"))


def code(**changes: Any) -> Kernels:
    parts: dict[str, Any] = {
        "name": "f",
        "source": "text",
        "inputs": (array("x", 2, 3),),
        "outputs": (array("y"),),
        "scratch": (array("s", 0),),
        "launches": (ONE, ONE),
    }
    return Kernels(**{**parts, **changes})


def test_bytes() -> None:
    made = code()
    assert (made.reads, made.writes) == (made.inputs, made.outputs)
    data = made.to_bytes()
    assert data.startswith(b"tandem-plain 1\n{")
    assert Kernels.from_bytes(data) == made


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scratch": (array("x"),)}, "two arrays have one name"),
        ({"inputs": (array("x", -1),)}, "x is float32[-1]"),
        ({"outputs": (array("y", 2, dtype="text"),)}, "y is text[2]"),
        ({"launches": (ONE, GpuLaunch("two", 0, 1, ()))}, "two has 0 blocks of 1"),
        ({"launches": (GpuLaunch("two", 1, 0, ()),)}, "two has 1 blocks of 0"),
        ({"launches": (GpuLaunch("two", 1, 1, ("x", "z", "q")),)}, "two has no array q"),
    ],
)
def test_parts_that_do_not_fit(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ArtifactError, match=f"^kernels in plain words, f: {re.escape(message)}$"):
        code(**changes)


def test_damaged_bytes() -> None:
    with pytest.raises(
        ArtifactError, match=r"^these are no kernels of ours, or of another version$"
    ):
        Kernels.from_bytes(code().to_bytes().replace(b"plain 1", b"plain 2", 1))
    with pytest.raises(ArtifactError, match=r"^kernels in plain words: they are damaged: "):
        Kernels.from_bytes(code().to_bytes()[:-1])
