"""The records of a timeline, and that Perfetto reads all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.isa import disassemble
from tandem.hw.memory_model import parse_memory
from tandem.sim.engines import make_engine
from tandem.sim.errors import EngineError
from tandem.sim.events import Event, EventKind, EventTable
from tandem.sim.result import Result
from tandem.sim.trace import Labels, timeline, write_timeline
from tests.support.sim.launching import launch
from tests.support.sim.programs import RandomProgram, random_program
from tests.support.sim.timelines import TracedRun, traced_run
from tests.support.sim.trace_events import arrows_of, faults, records_of

STORY = traced_run()


def written(folder: Path, run: TracedRun = STORY, labels: Labels | None = STORY.labels) -> str:
    path = folder / "timeline.json"
    write_timeline(path, run.result, run.program, labels)
    return path.read_text(encoding="utf-8")


def slices(text: str) -> list[tuple[Any, ...]]:
    names = {
        record["tid"]: record["args"]["name"]
        for record in records_of(text)
        if record["name"] == "thread_name"
    }
    return [
        (names[record["tid"]], record["name"], record["cat"], record["ts"], record["dur"])
        for record in records_of(text)
        if record["ph"] == "X"
    ]


def fetched(layers: tuple[str, str], cats: tuple[str, str]) -> list[tuple[Any, ...]]:
    """What the fetch track shows of the story."""
    first, second = layers
    return [
        ("fetch", f"GEMM mac{first}", cats[0], 1, 1),
        ("fetch", f"ALU ADD{first}", cats[0], 2, 1),
        ("fetch", f"STORE OUT{first}", cats[0], 5, 1),
        ("fetch", f"GEMM mac{second}", cats[1], 6, 1),
        ("fetch", f"STORE OUT{second}", cats[1], 7, 1),
        ("fetch", "FINISH", "fetch", 8, 3),
    ]


def test_slices_of_layers(tmp_path: Path) -> None:
    assert slices(written(tmp_path)) == [
        ("layers", "first", "layer", 0, 6),
        ("layers", "second", "layer", 6, 14),
        *fetched((" first", " second"), ("first", "second")),
        ("compute: GEMM", "GEMM mac first", "first", 2, 4),
        ("compute: ALU", "ALU ADD first", "first", 6, 1),
        ("store", "STORE OUT first", "first", 9, 6),
        ("compute: GEMM", "GEMM mac second", "second", 10, 4),
        ("store (2)", "STORE OUT second", "second", 11, 6),
        ("compute: finish", "FINISH", "compute: finish", 18, 1),
    ]


def test_slices_without_labels(tmp_path: Path) -> None:
    text = written(tmp_path, labels=None)
    assert faults(text) == []
    assert slices(text) == [
        *fetched(("", ""), ("fetch", "fetch")),
        ("compute: GEMM", "GEMM mac", "compute: GEMM", 2, 4),
        ("compute: ALU", "ALU ADD", "compute: ALU", 6, 1),
        ("store", "STORE OUT", "store", 9, 6),
        ("compute: GEMM", "GEMM mac", "compute: GEMM", 10, 4),
        ("store (2)", "STORE OUT", "store", 11, 6),
        ("compute: finish", "FINISH", "compute: finish", 18, 1),
    ]


def test_labels_without_layers_are_none(tmp_path: Path) -> None:
    none = replace(STORY.labels, layers=(), macs=(), layer_of=np.full(6, -1))
    text = written(tmp_path, labels=none)
    assert faults(text) == []
    assert slices(text) == slices(written(tmp_path, labels=None))


def test_what_a_slice_tells(tmp_path: Path) -> None:
    text = written(tmp_path)
    shown = {
        record["args"]["instruction"]: record["args"]
        for record in records_of(text)
        if "instruction" in record.get("args", {})
    }
    lines = [" ".join(line.split()[1:]) for line in disassemble(STORY.program).splitlines()]
    assert shown[1] == {"instruction": 1, "text": lines[1], "layer": "first", "place": "add y=3"}
    assert shown[1]["text"].endswith("push compute->store")
    assert shown[5] == {"instruction": 5, "text": "FINISH"}


def test_an_arrow(tmp_path: Path) -> None:
    (arrow,) = arrows_of(written(tmp_path))
    assert arrow.name == "compute->store"
    assert (arrow.giver["name"], arrow.taker["name"]) == ("ALU ADD first", "STORE OUT first")


def test_unfinished_instructions_are_left_out(tmp_path: Path) -> None:
    events = [
        event
        for event in STORY.result.events
        if (event.kind, event.instruction) not in ((EventKind.END, 2), (EventKind.END, 5))
    ]
    cut = replace(STORY, result=replace(STORY.result, events=EventTable.of(events)))
    text = written(tmp_path, cut)
    assert faults(text) == []
    drawn = Counter((track, name) for track, name, *_ in slices(text))
    assert drawn["fetch", "STORE OUT first"] == 1
    assert drawn["store", "STORE OUT first"] == 0
    assert arrows_of(text) == []


def test_what_cannot_be_drawn(tmp_path: Path) -> None:
    result, program, labels = STORY.result, STORY.program, STORY.labels
    path = tmp_path / "timeline.json"
    with pytest.raises(EngineError, match="launch with events=True"):
        write_timeline(path, replace(result, events=EventTable.of(())), program)
    with pytest.raises(EngineError, match="the functional engine has no time"):
        write_timeline(path, replace(result, engine="functional", cycles=None), program)
    # Before the first record is asked for.
    with pytest.raises(EngineError, match=r"labels of 5 and places of 6 instructions: .* has 6"):
        timeline(result, program, replace(labels, layer_of=labels.layer_of[:5]))
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def real() -> tuple[RandomProgram, Result]:
    config = load_config("tiny")
    engine = make_engine("rtl", config, parse_memory("ddr"))
    random = random_program(config, seed=3, size=400)
    result, _ = launch(engine, random.program, random.image, events=True)
    return random, result


def test_a_real_run(tmp_path: Path, real: tuple[RandomProgram, Result]) -> None:
    random, result = real
    count = len(random.program)
    layer_of = np.arange(count) * 7 // count - 1
    labels = Labels(tuple("abcdef"), (100,) * 6, layer_of, ("here",) * count)
    path = tmp_path / "timeline.json"
    for given in (None, labels):
        write_timeline(path, result, random.program, given)
        text = path.read_text()
        assert faults(text) == []
        drawn = [record for record in records_of(text) if "instruction" in record.get("args", {})]
        numbers = sorted(record["args"]["instruction"] for record in drawn)
        # Each once where it is fetched and once where it runs.
        assert numbers == [at for at in range(count) for _ in range(2)]
        _check_arrows(text, result.events)
    assert {record["cat"] for record in drawn} >= set("abcdef")


def _check_arrows(text: str, events: Sequence[Event]) -> None:
    """Each token has its arrow, from an instruction that pushes to one that pops."""
    acts = {(event.kind, event.instruction, str(event.queue)) for event in events}
    arrows = arrows_of(text)
    pops = [event for event in events if event.kind is EventKind.POP]
    assert len(arrows) == len(pops) > 50
    for arrow in arrows:
        giver, taker = arrow.giver["args"]["instruction"], arrow.taker["args"]["instruction"]
        assert (EventKind.PUSH, giver, arrow.name) in acts
        assert (EventKind.POP, taker, arrow.name) in acts
