"""Checkpoints: the state and back, and files that are none, damaged, or of another training."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.workbench.errors import TrainingError
from tandem.workbench.training.checkpoints import (
    Epoch,
    State,
    read_checkpoint,
    write_checkpoint,
)

BELONGS = {"network": "abc", "seed": "7"}
STATE = State(
    12,
    {"w": np.array([[1.5, -2.0]], np.float32), "m": np.arange(3), "t": np.array(4, np.int64)},
    (0.5, 0.25),
    3.75,
    (Epoch(6, 0.75, 0.1, 1.5), Epoch(12, 0.5, 0.05, 3.5, 0.625, 0.875)),
    0.05,
)
ABOUT = "about.json"


def written(path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """A checkpoint whose arrays are changed before they are written."""
    write_checkpoint(path, STATE, BELONGS)
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    change(arrays)
    with path.open("wb") as file:
        np.savez(file, **arrays)
    return path


def about(**changes: Any) -> Callable[[dict[str, Any]], None]:
    """Other values in the text, or none of a name."""

    def change(arrays: dict[str, Any]) -> None:
        found = json.loads(arrays[ABOUT].tobytes()) | changes
        left = {name: value for name, value in found.items() if value != "none"}
        arrays[ABOUT] = np.frombuffer(json.dumps(left).encode(), np.uint8)

    return change


def test_a_state_and_back(tmp_path: Path) -> None:
    path = tmp_path / "training.checkpoint"
    for state in (replace(STATE, step=1, losses=(), epochs=()), STATE):
        write_checkpoint(path, state, BELONGS)
        found = read_checkpoint(path, BELONGS, STATE)
        assert (found.step, found.losses, found.seconds) == (state.step, state.losses, 3.75)
        assert (found.epochs, found.rate) == (state.epochs, state.rate)
        assert found.arrays.keys() == state.arrays.keys()
        for name, array in found.arrays.items():
            np.testing.assert_array_equal(array, state.arrays[name])
            assert array.dtype == state.arrays[name].dtype
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_it_belongs_to_one_training(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "c", STATE, BELONGS)
    read_checkpoint(tmp_path / "c", {"seed": "7"}, STATE)
    for name, was in (("seed", "7"), ("rate", "None")):
        message = rf"c: a checkpoint of another training: {name} was {was}, and is 8$"
        with pytest.raises(TrainingError, match=message):
            read_checkpoint(tmp_path / "c", {**BELONGS, name: "8"}, STATE)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("w", np.zeros((2, 1), np.float32)),
        ("w", np.zeros((1, 2), np.float64)),
        ("t", np.zeros(1, np.int64)),
        ("more", np.zeros(1)),
    ],
)
def test_arrays_of_another_state(name: str, array: np.ndarray[Any, Any], tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "c", STATE, BELONGS)
    like = replace(STATE, arrays={**STATE.arrays, name: array})
    with pytest.raises(TrainingError, match=rf"c: no checkpoint, or damaged \(array {name}\)$"):
        read_checkpoint(tmp_path / "c", BELONGS, like)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (about(format=1), r"a checkpoint of format 1, not 2$"),
        (about(format="none"), r"no checkpoint, or damaged \('format'\)"),
        (about(step="x"), r"no checkpoint, or damaged \(invalid literal"),
        (about(step=[1]), "no checkpoint, or damaged"),
        (about(losses=["x"]), "no checkpoint, or damaged"),
        (about(losses=1), "no checkpoint, or damaged"),
        (about(seconds="none"), "no checkpoint, or damaged"),
        (about(rate="x"), "no checkpoint, or damaged"),
        (about(epochs=[{"step": 1}]), "no checkpoint, or damaged"),
        (about(epochs=[3]), "no checkpoint, or damaged"),
        (about(belongs=[1]), "no checkpoint, or damaged"),
        (lambda arrays: arrays.pop(ABOUT), "no checkpoint, or damaged"),
        (lambda arrays: arrays.update({ABOUT: np.zeros(3)}), "no checkpoint, or damaged"),
        (lambda arrays: arrays.pop("w"), r"no checkpoint, or damaged \(array w\)$"),
    ],
)
def test_texts_of_other_kinds(
    change: Callable[[dict[str, Any]], None], message: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "c", change)
    with pytest.raises(TrainingError, match=f"c: {message}"):
        read_checkpoint(path, BELONGS, STATE)


def test_other_files(tmp_path: Path) -> None:
    path = tmp_path / "c"
    with pytest.raises(TrainingError, match=r"c: no checkpoint, or damaged \(.*No such file"):
        read_checkpoint(path, BELONGS, STATE)
    path.write_bytes(b"no checkpoint")
    with pytest.raises(TrainingError, match="c: no checkpoint, or damaged"):
        read_checkpoint(path, BELONGS, STATE)


@given(data=st.data())
def test_a_damaged_file_is_refused_or_read(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "c"
    write_checkpoint(path, STATE, BELONGS)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    # Nothing but our error comes of it.
    with suppress(TrainingError):
        read_checkpoint(path, BELONGS, STATE)


def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c"
    write_checkpoint(path, STATE, BELONGS)
    before = path.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match=rf"No space left on device: '{path}'"):
        write_checkpoint(path, replace(STATE, step=99), BELONGS)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["c"]
