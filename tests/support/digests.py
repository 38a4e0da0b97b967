"""Records and compares digests of compiled programs, memory images and outputs.

    python -m tests.support.digests record FILE [--models FOLDER] [--only PREFIX]...
    python -m tests.support.digests compare FILE [--models FOLDER] [--only PREFIX]...

`record` writes the digests of the tree in which it runs, case by case, and resumes after an
interruption. `compare` recomputes the digests, prints the differing cases, and exits with 1 if
there are any. A prefix is a group (`layers`, `networks`, `cpu`, `light`, `random`, `models`), or
more of a case's name, as `layers/pynq/C8`. The group `models` has the ONNX files of a folder, as
`tests.support.exported_networks` writes them, on every preset. A file is valid for the processor
that recorded it: machine code, floating-point results, and calibrated scales depend on the
processor.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from time import perf_counter

import msgspec

from tandem.base.files import write_atomically
from tests.support.digest_cases import Case, Digests, all_cases
from tests.support.model_digests import model_cases


def selected(prefixes: Sequence[str], models: Path | None = None) -> Iterator[Case]:
    """The cases whose names begin with one of `prefixes`; all cases if there are none.

    With a folder of `models`, their cases come first.
    """
    for case in chain(() if models is None else model_cases(models), all_cases()):
        if not prefixes or any(f"{case.name}/".startswith(f"{each}/") for each in prefixes):
            yield case


def as_text(known: Mapping[str, Digests]) -> str:
    """The text of a digest file, a digest per line."""
    return msgspec.json.format(msgspec.json.encode(known), indent=1).decode() + "\n"


def differences(before: Digests, now: Digests) -> list[str]:
    """The names of digests that differ or are in only one of the two mappings."""
    return [what for what in {**before, **now} if before.get(what) != now.get(what)]


def record(path: Path, cases: Iterable[Case]) -> int:
    """Append to the file the digests of the cases that it lacks."""
    known = {**_read(path)} if path.exists() else {}
    for case in cases:
        if case.name in known:
            continue
        begun = perf_counter()
        known[case.name] = case.digests()
        write_atomically(path, as_text(known).encode())
        _tell(case.name, "recorded", begun)
    return 0


def compare(path: Path, cases: Iterable[Case]) -> int:
    """Print the cases that differ from the file; return 1 if there are any."""
    known, wrong, count = _read(path), 0, 0
    for case in cases:
        begun = perf_counter()
        verdict = _verdict(case, known)
        _tell(case.name, verdict or "equal", begun)
        wrong += bool(verdict)
        count += 1
    print(f"{count - wrong} of {count} cases equal")
    return 1 if wrong or not count else 0


def _verdict(case: Case, known: Mapping[str, Digests]) -> str:
    """A text of the difference of a case from the file; empty if equal."""
    if case.name not in known:
        return "NOT RECORDED"
    try:
        different = differences(known[case.name], case.digests())
    except Exception as error:  # one case must not keep the others from being compared
        traceback.print_exc()
        return f"FAILED: {type(error).__name__}: {error}"
    return f"DIFFERENT: {', '.join(different)}" if different else ""


def _read(path: Path) -> Mapping[str, Digests]:
    return msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, str]])


def _tell(name: str, verdict: str, begun: float) -> None:
    print(f"{name:32} {verdict} ({perf_counter() - begun:.1f} s)", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `record` or `compare`; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.digests")
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--models", metavar="FOLDER", type=Path)
    parser.add_argument("--only", metavar="PREFIX", action="append", default=[])
    asked = parser.parse_args(arguments)
    action = record if asked.action == "record" else compare
    return action(asked.file, selected(asked.only, asked.models))


if __name__ == "__main__":
    sys.exit(main())
