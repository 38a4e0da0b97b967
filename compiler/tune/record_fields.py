"""What the fields of a record may be, beyond their types: a machine, a choice, a cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tandem.compiler.errors import RecordError
from tandem.compiler.te.knobs import Setting
from tandem.compiler.tune.plain import canonical_text
from tandem.compiler.tune.trial import Status
from tandem.hw.config_files import parse_config
from tandem.hw.errors import HardwareError
from tandem.hw.memory_model import parse_memory

ACCELERATOR, CPU = "accelerator", "cpu"
MOST_CYCLES = (1 << 63) - 1
"""The most cycles that the counters and NumPy's integers hold."""
MOST_SETTING = (1 << 31) - 1
"""The largest number that a knob is set to."""
DEEPEST = 100
"""How deep a workload may be nested."""

_LONGEST = 40
"""Characters of a value in a message."""


def check_machine(target: str, machine: Mapping[str, Any], memory: str) -> None:
    """Raise `RecordError` unless a target has such a machine, with such a memory.

    Targets that are not ours have machines as they like.
    """
    match target:
        case "accelerator":
            try:
                parse_config(canonical_text(machine), "machine")
                parse_memory(memory)
            except HardwareError as error:
                raise RecordError(str(error)) from None
        case "cpu":
            _check_processor(machine)
            if memory:
                raise RecordError(f"memory is {memory!r}: records of a processor have an empty one")
        case "":
            raise RecordError("target is empty: it must be accelerator, cpu, or a target's name")


def check_workload(workload: Any) -> None:
    """Raise `RecordError` for plain data that is nested too deeply to be written again."""
    level, part = 0, [workload]
    while part:
        if level > DEEPEST:
            raise RecordError(f"workload is nested more than {DEEPEST} levels deep")
        inner: list[Any] = []
        for value in part:
            if isinstance(value, Mapping):
                inner += value.values()
            elif isinstance(value, list):
                inner += value
        level, part = level + 1, inner


def check_choice(choice: Mapping[str, Setting]) -> None:
    """Raise `RecordError` unless knobs have names, and settings that are no greater than any is."""
    for knob, setting in choice.items():
        if not knob:
            raise RecordError("choice: the name of a knob is empty")
        if isinstance(setting, int) and not -MOST_SETTING <= setting <= MOST_SETTING:
            raise RecordError(
                f"choice: {knob} is {_shown(setting)}: it must lie in "
                f"{-MOST_SETTING}..{MOST_SETTING}"
            )


def check_cost(target: str, status: Status, cost: float | None) -> None:
    """Raise `RecordError` unless a trial of such a status on the target may have that cost."""
    if status is not Status.MEASURED:
        if cost is not None:
            raise RecordError(
                f"cost is {_shown(cost)}: a trial that is {status.value} has none (null)"
            )
        return
    if target == ACCELERATOR:
        allowed = f"cycles, a whole number from 1 to {MOST_CYCLES}"
        legal = cost is not None and 1 <= cost <= MOST_CYCLES and cost == math.floor(cost)
    elif target == CPU:
        allowed = "seconds, a number above 0"
        legal = cost is not None and _is_positive(cost)
    else:
        allowed = "a number above 0"
        legal = cost is not None and _is_positive(cost)
    if not legal:
        raise RecordError(f"cost is {_shown(cost)}: that of a measured trial is {allowed}")


def check_winner(status: Status, default_cost: float) -> None:
    """Raise `RecordError` unless a choice may have won against a default of that cost."""
    if status is not Status.MEASURED:
        raise RecordError(
            f"default_cost is {_shown(default_cost)}: a trial that is {status.value} has none"
        )
    if not _is_positive(default_cost):
        raise RecordError(f"default_cost is {_shown(default_cost)}: it must be a number above 0")


def check_proposer(limit: float | None, explorer: str, seed: int) -> None:
    """Raise `RecordError` unless a trial may have been proposed so."""
    if limit is not None and not _is_positive(limit):
        raise RecordError(f"limit is {_shown(limit)}: it must be a number above 0, or null")
    if not explorer:
        raise RecordError("explorer is empty: it must be the name of one")
    if seed < 0:
        raise RecordError(f"seed is {_shown(seed)}: it must be 0 or more")


def _check_processor(machine: Mapping[str, Any]) -> None:
    known = {"name", "features", "threads"}
    if odd := sorted(machine.keys() ^ known):
        raise RecordError(
            f"machine: {odd[0]!r} is {'unknown' if odd[0] in machine else 'missing'}; a processor "
            f"has name, features and threads"
        )
    name, features, threads = machine["name"], machine["features"], machine["threads"]
    if not isinstance(name, str) or not name:
        raise RecordError(f"machine: name is {name!r}: it must be a processor's name")
    if not isinstance(features, list) or not all(isinstance(one, str) for one in features):
        raise RecordError(f"machine: features is {features!r}: it must be a list of names")
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise RecordError(f"machine: threads is {threads!r}: it must be a whole number from 1")


def _shown(value: object) -> str:
    """A value as JSON has it, cut where it is long."""
    text = "null" if value is None else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _is_positive(number: float) -> bool:
    """Whether a number is above 0 and a finite float."""
    try:
        return 0 < float(number) < math.inf
    except OverflowError:
        return False
