"""Files of timelines: whole or not there, and right to the letter."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tandem.sim.trace import Labels, timeline, write_timeline
from tests.support.sim.timelines import traced_run
from tests.support.sim.trace_events import faults, records_of

STORY = traced_run()


def written(folder: Path, labels: Labels = STORY.labels) -> str:
    path = folder / "timeline.json"
    write_timeline(path, STORY.result, STORY.program, labels)
    return path.read_text(encoding="utf-8")


def test_the_file(tmp_path: Path) -> None:
    text = written(tmp_path)
    assert faults(text) == []
    told = json.loads(text)["otherData"]
    assert told == {"engine": "rtl", "config": "pynq", "cycles": 20, "unit": "1 us is 1 cycle"}
    assert list(tmp_path.iterdir()) == [tmp_path / "timeline.json"]


def test_text_of_all_kinds(tmp_path: Path) -> None:
    name = 'größe "x"\n\x01,層\\'
    labels = replace(STORY.labels, layers=(name, "second"))
    text = written(tmp_path, labels=labels)
    assert faults(text) == []
    assert "größe" in text
    assert name in {record["name"] for record in records_of(text)}


@pytest.mark.parametrize("at_once", [1, 2, 7, 1000])
def test_all_records_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    wanted = list(timeline(STORY.result, STORY.program, STORY.labels))
    assert len(wanted) > 2 * 7
    monkeypatch.setattr("tandem.sim.trace.writer._AT_ONCE", at_once)
    text = written(tmp_path)
    assert faults(text) == []
    assert records_of(text) == wanted


def test_a_full_disk_names_the_file() -> None:
    with pytest.raises(OSError, match="/dev/full") as caught:
        write_timeline(Path("/dev/full"), STORY.result, STORY.program)
    assert caught.value.errno == errno.ENOSPC


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "timeline.json"
    path.write_text("old")
    # An END without a START.
    lost = replace(STORY.result, events=STORY.result.events[1:])
    with pytest.raises(KeyError):
        write_timeline(path, lost, STORY.program)
    assert [each.read_text() for each in tmp_path.iterdir()] == ["old"]
