"""What the compiler makes is what it made before; and the tool that says so notices a change.

`python -m tests.support.digests` compares many more networks with what another tree made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.support import digests
from tests.support.digest_cases import Case, Digests, all_cases
from tests.support.digests import as_text, differences, main, selected

EXACT = tuple(
    selected(["layers/pynq/C7", "layers/pynq/C10", "layers/ultra96/C10", "networks/digits/pow2"])
)
"""Their numbers are exact: the same on every host."""
STRUCTURE = tuple(selected(["networks/digits/small8", *(f"random/{seed}" for seed in range(4))]))
"""Of these, the instructions are. Scales are found with the host's real numbers, and go into images
and outputs."""
_SCALED = frozenset({"image", "output", "output on the CPU"})


@pytest.mark.parametrize("case", [*EXACT, *STRUCTURE], ids=lambda case: case.name)
def test_a_program_is_that_of_before(case: Case, golden: Callable[[str, str], None]) -> None:
    """If it is to change: `--update-golden`, and the commit says why."""
    found = case.digests()
    if case in STRUCTURE:
        found = {what: found[what] for what in found if what not in _SCALED}
    golden(f"compiler/digests/{case.name}.json", as_text({case.name: found}))


def test_names_of_cases() -> None:
    names = [case.name for case in all_cases()]
    assert len({*names}) == len(names)
    assert {name.partition("/")[0] for name in names} == {
        *("layers", "networks", "cpu", "light", "random")
    }
    # A prefix is whole parts of a name.
    assert [case.name for case in selected(["layers/pynq/C1", "random/1"])] == [
        *("layers/pynq/C1/hiding", "layers/pynq/C1/plain", "random/1")
    ]


@pytest.mark.parametrize(
    ("now", "different"),
    [
        ({"program": "1", "image": "2"}, []),
        ({"program": "1", "image": "3"}, ["image"]),
        ({"program": "1"}, ["image"]),
        ({"program": "1", "image": "2", "refused": "CapacityError"}, ["refused"]),
    ],
)
def test_differences(now: Digests, different: list[str]) -> None:
    assert differences({"program": "1", "image": "2"}, now) == different


class _Tree:
    """Cases that stand for those of a tree."""

    def __init__(self, **found: Digests | BaseException) -> None:
        self.found = found
        self.asked: list[str] = []

    def cases(self) -> Iterator[Case]:
        for name in self.found:
            yield Case(name, partial(self._digests, name))

    def _digests(self, name: str) -> Digests:
        self.asked.append(name)
        found = self.found[name]
        if isinstance(found, BaseException):
            raise found
        return found


def test_recording_goes_on_where_it_was_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "digests.json")
    tree = _Tree(one={"program": "1"}, two=KeyboardInterrupt())
    monkeypatch.setattr(digests, "all_cases", tree.cases)
    with pytest.raises(KeyboardInterrupt):
        main(["record", path])
    rest = _Tree(one={"program": "other"}, two={"program": "2"})
    monkeypatch.setattr(digests, "all_cases", rest.cases)
    assert main(["record", path]) == 0
    assert rest.asked == ["two"]
    same = _Tree(one={"program": "1"}, two={"program": "2"})
    monkeypatch.setattr(digests, "all_cases", same.cases)
    assert main(["compare", path]) == 0


def test_comparing_says_what_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "digests.json")
    before = {"program": "1", "image": "2"}
    old = _Tree(same=before, other=before, broken=before)
    monkeypatch.setattr(digests, "all_cases", old.cases)
    main(["record", path])
    new = _Tree(
        same=before, other={"program": "1", "image": "3"}, broken=ValueError("lost"), unknown=before
    )
    monkeypatch.setattr(digests, "all_cases", new.cases)
    capsys.readouterr()
    assert main(["compare", path]) == 1
    *verdicts, total = capsys.readouterr().out.splitlines()
    assert [" ".join(line.split()[:-2]) for line in verdicts] == [
        *("same equal", "other DIFFERENT: image"),
        *("broken FAILED: ValueError: lost", "unknown NOT RECORDED"),
    ]
    assert total == "1 of 4 cases equal"
    assert main(["compare", path, "--only", "same"]) == 0
    assert main(["compare", path, "--only", "nothing"]) == 1
