"""Jobs that are sent to other processes."""

from __future__ import annotations

import pickle

import pytest

from tandem.compiler.errors import WorkerError
from tandem.compiler.tune.pool import measure_packed, packed


def job(layer: list[int], choice: int, limit: float) -> tuple[list[int], int, float]:
    return layer, choice, limit


def test_there_and_back() -> None:
    assert measure_packed(packed(job, [1, 2]), 3, 4.5) == ([1, 2], 3, 4.5)


def test_what_cannot_be_sent() -> None:
    for layer in (lambda: 0, (each for each in "ab")):
        with pytest.raises(
            WorkerError, match=r"^this cannot be sent to another process: .*: a tem"
        ):
            packed(job, layer)


@pytest.mark.parametrize(
    "code",
    [b"cno_such_module\nname\n.", b"ctandem.compiler.tune.pool\nno_such_name\n."],
)
def test_what_cannot_be_imported(code: bytes) -> None:
    with pytest.raises(WorkerError, match=r"^a process that measures cannot import what it meas"):
        measure_packed(code, None, 1.0)


def test_errors_of_the_job_are_its_own() -> None:
    def fails(layer: object, choice: object, limit: float) -> None:
        raise KeyError(choice)

    with pytest.raises(WorkerError):
        packed(fails, None)
    with pytest.raises(ValueError, match="not enough values"):
        measure_packed(pickle.dumps((job,)), None, 1.0)
