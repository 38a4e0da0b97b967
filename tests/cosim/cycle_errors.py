"""Errors of one cycle to plant in the model of time, and the program that plants them.

`python -m tests.cosim.cycle_errors` (with TANDEM_JIT=0) prints the errors that the record
of the RTL's times does not show.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

from tests.support.sim.recorded_times import PATH, modelled, recorded_cases

PACKAGE = "tandem.sim.cycle"


@dataclass(frozen=True, slots=True)
class CycleError:
    """A change of one line of a module of `sim.cycle`: `old`, which occurs once, becomes `new`."""

    module: str
    old: str
    new: str


def _in(module: str, *changes: tuple[str, str]) -> tuple[CycleError, ...]:
    return tuple(CycleError(module, old, new) for old, new in changes)


ERRORS = (
    *_in(
        "machine",
        ("fetch_longest=min(ahead,", "fetch_longest=min(ahead + 1,"),
        ("[queue_of(Unit.LOAD)].depth", "[queue_of(Unit.LOAD)].depth - 1"),
        ("depth=pipeline_depth(config)", "depth=pipeline_depth(config) + 1"),
        ("latency=memory.latency", "latency=memory.latency + 1"),
        ('["load_buffer"].depth', '["load_buffer"].depth - 1'),
        ('["compute_buffer"].depth', '["compute_buffer"].depth - 1'),
        ("two_reads=2 if", "two_reads=1 if"),
    ),
    *_in(
        "reads",
        ("client[NEXT] = now + 2", "client[NEXT] = now + 1"),
        ("client[NEXT] = now + 1\n", "client[NEXT] = now + 2\n"),
        ("(needed - 1) & reads.used_mask] + 1", "(needed - 1) & reads.used_mask]"),
        ("accepted = now + 1\n", "accepted = now + 2\n"),
        ("master[LAST] + machine.interval)", "master[LAST] + 1)"),
        ("max(accepted + machine.latency", "max(accepted + machine.latency - 1"),
        ("master[FREE] = accepted", "master[FREE] = accepted + 1"),
        (
            "(bursts - machine.in_flight) & reads.ends_mask] + 1",
            "(bursts - machine.in_flight) & reads.ends_mask]",
        ),
        (
            "(bursts - machine.reads_in_flight) & reads.ends_mask] + 1",
            "(bursts - machine.reads_in_flight) & reads.ends_mask]",
        ),
        ("if bursts >= machine.reads_in_flight:", "if bursts > machine.reads_in_flight:"),
        ("COMPUTE = 1\nLOAD = 2", "COMPUTE = 2\nLOAD = 1"),
    ),
    *_in(
        "loads",
        ("dma[WRITTEN] = now + 1 +", "dma[WRITTEN] = now +"),
        ("available = first + 1", "available = first"),
        ("max(now + 1, available) + here - 1", "max(now + 1, available) + here"),
        ("now = max(now + beats, available", "now = max(now + beats + 1, available"),
        ("(beats - 1) * machine.interval)", "beats * machine.interval)"),
        ("            now += row[X_PAD_1]\n", "            now += row[X_PAD_1] + 1\n"),
        ("rest = row[X_PAD_1] +", "rest = 1 + row[X_PAD_1] +"),
        (
            "= now\n            number += 1\n            col",
            "= now + 1\n            number += 1\n            col",
        ),
        ("max(earliest + beat, available", "max(earliest + beat + 1, available"),
    ),
    *_in(
        "stores",
        ("taken = order(machine, stores, start + 1)", "taken = order(machine, stores, start + 2)"),
        ("offered = start + 2", "offered = start + 1"),
        ("state[READ] = start\n", "state[READ] = start + 1\n"),
        ("offered = taken + 1", "offered = taken + 2"),
        ("max(accepted, answered + 1)", "max(accepted, answered)"),
        ("first = max(taken + 2, accepted + 1)", "first = max(taken + 2, accepted)"),
        ("read = state[READ] + 1\n", "read = state[READ] + 2\n"),
        ("(number - QUEUE) % RECENT] + 1", "(number - QUEUE) % RECENT]"),
        ("QUEUE = OUT_QUEUE_BEATS", "QUEUE = OUT_QUEUE_BEATS - 1"),
        ("state[READ] + 2, first", "state[READ] + 1, first"),
        ("state[TAKEN] + machine.latency", "state[TAKEN] + machine.latency + 1"),
        ("machine.latency, state[ANSWERED] + 1)", "machine.latency, state[ANSWERED] + 2)"),
        ("max(state[ANSWERED] + 1, taken + 1)", "max(state[ANSWERED], taken + 1)"),
        ("state[DONE] = max(state[DONE] + 1,", "state[DONE] = max(state[DONE],"),
        (
            "state[READY] = max(offered, state[READ] + 1)",
            "state[READY] = max(offered, state[READ])",
        ),
        ("state[READY] = taken + 1", "state[READY] = taken + 2"),
        ("(len(stores.done) - 1)] + 1)", "(len(stores.done) - 1)])"),
    ),
    *_in(
        "pipeline",
        ("enters = issued + stage", "enters = issued + stage + 1"),
        ("state[STAY + number] + distance", "state[STAY + number] + distance - 1"),
        ("in range(distance - 1)", "in range(distance - 2)"),
        ("in range(near - 1, 0, -1)", "in range(near - 2, 0, -1)"),
        ("distance += machine.custom_lead", "distance += machine.custom_lead - 1"),
        ("in range(machine.custom_lead)", "in range(machine.custom_lead - 1)"),
        ("early = custom or (", "early = ("),
        ("    now = start + 1", "    now = start + 2"),
        ("now += number - STAGE", "now += number - STAGE + 1"),
        ("first <= now < first", "first < now < first"),
        ("machine.depth - STAGE)", "machine.depth - STAGE + 1)"),
    ),
    *_in(
        "dispatch",
        ("STAGES = CHECK_STAGES", "STAGES = CHECK_STAGES - 1"),
        ("free = times[MOVED, at - 1] + 1 if", "free = times[MOVED, at - 1] if"),
        (
            "fetched = max(fetched, times[DISPATCH, at - 1] + 1)",
            "fetched = max(fetched, times[DISPATCH, at - 1])",
        ),
        ("behind]] + 1", "behind]]"),
        ("% per_beat == per_beat - 1 or", "% per_beat == 0 or"),
    ),
    *_in(
        "units",
        ("times[DISPATCH, at] + 1,", "times[DISPATCH, at] + 2,"),
        ("run.pushes[prev, token] + 1", "run.pushes[prev, token]"),
        ("run.pushes[following, token] + 1", "run.pushes[following, token]"),
        (
            "state[LOOPS_AT] = run.pipeline[0, ISSUED]",
            "state[LOOPS_AT] = run.pipeline[0, ISSUED] + 1",
        ),
        (
            "        state[READY_AT + unit] = ended + 1\n        end(run",
            "        state[READY_AT + unit] = ended\n        end(run",
        ),
        ("state[READY_AT + unit] = now + 2", "state[READY_AT + unit] = now + 1"),
        ("state[LOOPS_AT] = now + 2", "state[LOOPS_AT] = now + 1"),
        ("ended = now + 1\n", "ended = now + 2\n"),
        ("state[LOOPS_AT] = ended + 1", "state[LOOPS_AT] = ended"),
    ),
    *_in(
        "run",
        ("first + number * machine.interval + 1", "first + number * machine.interval"),
    ),
    *_in(
        "counters",
        ("before) - 1)", "before))"),
        ("start - 1 - times[WROTE]", "start - times[WROTE]"),
        ("end - np.maximum(start - 1, before)", "end - np.maximum(start, before)"),
    ),
    *_in("outcome", ("DONE_CYCLES = 3", "DONE_CYCLES = 4")),
)  # fmt: skip


class _Planted(SourceFileLoader):
    """Loads a module with a change."""

    error: CycleError

    def get_code(self, fullname: str) -> object:  # type: ignore[override]
        text = Path(self.path).read_text()
        assert text.count(self.error.old) == 1, self.error
        return compile(text.replace(self.error.old, self.error.new), self.path, "exec")


class _Finder(MetaPathFinder):
    """Finds the module with a change; the others as ever."""

    def __init__(self, error: CycleError, path: str) -> None:
        self._error, self._path = error, path

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != f"{PACKAGE}.{self._error.module}":
            return None
        loader = _Planted(name, self._path)
        loader.error = self._error
        return spec_from_loader(name, loader)


def _shows(error: CycleError, record: Sequence[str]) -> bool:
    """Whether a run of the record differs with the error planted."""
    for name in [name for name in sys.modules if name.startswith(f"{PACKAGE}.")]:
        del sys.modules[name]
        # `from tandem.sim.cycle import loads` takes what the package has of this name.
        vars(sys.modules[PACKAGE]).pop(name.rpartition(".")[2], None)
    found = find_spec(f"{PACKAGE}.{error.module}")
    assert found is not None
    assert found.origin is not None
    finder = _Finder(error, found.origin)
    sys.meta_path.insert(0, finder)
    try:
        return any(
            modelled(case) != line for case, line in zip(recorded_cases(), record, strict=True)
        )
    except (ArithmeticError, LookupError):
        return True
    finally:
        sys.meta_path.remove(finder)


def main() -> None:
    """Print the errors that no run of the record shows."""
    record = PATH.read_text().splitlines()
    for error in ERRORS:
        if not _shows(error, record):
            print(f"{error.module}: {error.old!r} -> {error.new!r}")


if __name__ == "__main__":
    main()
