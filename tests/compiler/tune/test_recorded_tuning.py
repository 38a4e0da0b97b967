"""What explorers propose of a table of candidates, and what is said of damaged records, stays what
it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

from tandem.compiler.errors import CompilerError
from tandem.compiler.plan.space import Choices, Floats
from tandem.compiler.tune.best_known import best_record, of_machine
from tandem.compiler.tune.best_records import best_records
from tandem.compiler.tune.built_in import built_in_records
from tandem.compiler.tune.explorers.table import EXPLORERS
from tandem.compiler.tune.recorded import by_identity
from tandem.compiler.tune.records import dump_records, merge_records, read_records
from tandem.compiler.tune.tuner import Tuning, settings_text
from tests.support.compiler.tune.tuning import candidates, measure_of, valley
from tests.support.damaged_json import damage_json

STEPS = 6
RECORDS = 160
_LEARNS = "xgboost"
"""The explorer whose proposals depend on the version of a library."""


def _low(choices: Choices) -> Floats:
    """Lower bounds near the costs."""
    found: Floats = valley(choices) * 0.9 - 5.0
    return found


def _askew(choices: Choices) -> Floats:
    """Estimates whose best choice is another than the costs'."""
    found: Floats = valley(choices) + 9.0 * (choices["x"] > 5) + 3.0 * choices["y"]
    return found


def _tuned(explorer: str, seed: int) -> str:
    found = candidates(_askew, _low)
    tuning = Tuning(found, EXPLORERS[explorer](found, seed))
    lines = []
    for step in range(STEPS):
        for trial in tuning.step(measure_of(), 3 + 2 * step):
            choice = settings_text(found.choice(trial.row))
            lines.append(f"{trial.row} {choice} {trial.outcome}")
        certificate = tuning.certificate()
        lines.append(f"{certificate} gap {certificate.gap:.6g} {certificate.certified}")
    lines.append(f"{tuning.best} {tuning.choice} {found.row(tuning.choice or {})}")
    return "\n".join(lines)


def test_explorers(recorded: Callable[[str, Mapping[str, str]], None]) -> None:
    found = {
        f"{explorer} {seed}": _tuned(explorer, seed)
        for explorer in EXPLORERS
        if explorer != _LEARNS
        for seed in (0, 1)
    }
    recorded("recorded/tune/explorers.txt", found)


def _read(path: Path) -> str:
    """What is read of a file of records, or said of it."""
    try:
        records, damages = read_records(path)
    except CompilerError as error:
        return f"{type(error).__name__}: {str(error).replace(str(path), 'FILE')}"
    lines = [str(damage).replace(str(path), "FILE") for damage in damages]
    lines.append(dump_records(records).decode())
    lines += [f"{key} {len(each)}" for key, each in sorted(by_identity(records).items())]
    lines.append(dump_records(best_records(records)).decode())
    best = best_record(records)
    lines.append("none" if best is None else dump_records([best]).decode())
    return "\n".join(lines)


def test_damaged_records(recorded: Callable[[str, Sequence[str]], None], tmp_path: Path) -> None:
    """Of three records that come with Tandem, one is damaged."""
    known, path, found = built_in_records(), tmp_path / "records.jsonl", []
    for seed in range(RECORDS):
        rng = Random(f"records {seed}")
        start = rng.randrange(len(known) - 3)
        lines = dump_records(known[start : start + 3]).decode().splitlines()
        value = json.loads(lines[1])
        said = damage_json(rng, value)
        lines[1] = json.dumps(value)
        if seed % 8 == 0:
            lines[2] = lines[2][: rng.randrange(len(lines[2]))]
        path.write_text("\n".join(lines) + "\n" * (seed % 3 != 0))
        found.append(f"{said}\n{_read(path)}")
    recorded("recorded/tune/damaged_records.txt", found)


def test_built_in_records(recorded: Callable[[str, Mapping[str, str]], None]) -> None:
    """How many there are for each machine, and what is chosen of them."""
    known = built_in_records()
    machines = {(json.dumps(each.machine, sort_keys=True), each.memory) for each in known}
    found = {}
    for machine, memory in sorted(machines):
        own = of_machine(known, json.loads(machine), memory)
        name = json.loads(machine).get("name", machine)
        best = dump_records(merge_records(best_records(own), own[:2])).decode()
        found[f"{name} {memory}"] = f"{len(own)} records\n{best}"
    recorded("recorded/tune/built_in_records.txt", found)
