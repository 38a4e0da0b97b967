"""Trials in a small tree: found by the mirror, near by, further away, or not at all."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from rich.console import Console

from tests.mutation.python.faults import Fault, list_faults
from tests.mutation.python.mirrored import Mirrors, TestsOf
from tests.mutation.python.report import Report, read_outcomes, write_patch
from tests.mutation.python.survivors import JUDGED, read_judgements
from tests.mutation.python.trial import Ending, Outcome, Tree, UnclearError
from tests.mutation.survivors import Judgement, Worth
from tests.support.packages import FOLDERS, LINKED

FILES = {
    "tandem/__init__.py": "",
    "hw/__init__.py": "",
    "sim/__init__.py": "",
    "hw/sums.py": "def first(a):\n    return a + 1\n\n\ndef second(a):\n    return a << 1\n\n\n"
    "def third(a):\n    return not a\n\n\ndef fourth(a):\n    return any(a)\n",
    "sim/users.py": "from tandem.hw.sums import second\n\n\ndef twice(a):\n    return second(a)\n",
    "tests/hw/test_sums.py": "from tandem.hw import sums\n\n\ndef test_first():\n"
    "    assert sums.first(1) == 2\n",
    "tests/hw/test_sums_far.py": "def test_nothing():\n    pass\n",
    "tests/sim/test_users.py": "from tandem.sim.users import twice\n\n\ndef test_twice():\n"
    "    assert twice(3) == 6\n",
    "tests/far/test_far.py": "import importlib\n\n\ndef test_third():\n"
    "    assert importlib.import_module('tandem.hw.' + 'sums').third(False)\n",
    "tests/far/test_slow.py": "import time\n\nfrom tandem.hw.sums import second\n\n\n"
    "def test_loop():\n    a = 1\n    while a < 9:\n        a = second(a)\n"
    "        time.sleep(0.05)\n",
    "tests/far/test_recorded_twice.py": "from tandem.sim.users import twice\n\n\n"
    "def test_digests():\n    assert twice(4) == 8\n",
    "pyproject.toml": "[tool.pytest.ini_options]\n",
}

NET = "tests/far/test_recorded_twice.py"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # The small tree's tests need no plugins, which take longer to be imported than all of it.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name, text in FILES.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for folder in FOLDERS:
        (tmp_path / "root" / folder).mkdir(exist_ok=True)
    for folder in LINKED:
        (tmp_path / "root" / "tandem" / folder).symlink_to(f"../{folder}")
    return tmp_path / "root"


def fault(place: str, new: str) -> Fault:
    faults = list_faults("hw/sums.py", FILES["hw/sums.py"])
    (found,) = (one for one in faults if one.place == place and one.new == new)
    return found


def test_the_tests_of_a_file(root: Path) -> None:
    mirrors = Mirrors(root)
    mirror = ("tests/hw/test_sums.py", "tests/hw/test_sums_far.py")
    near = ("tests/far/test_slow.py", "tests/sim/test_users.py")
    assert mirrors.of("hw/sums.py") == TestsOf(mirror, near, (NET,), ("tests/hw", "tests"))
    users = TestsOf(("tests/sim/test_users.py",), (NET,), (), ("tests/sim", "tests"))
    assert mirrors.of("sim/users.py") == users
    # What no test is about has the tests of the folder around it.
    assert mirrors.of("hw/none/none.py") == TestsOf((), mirror, (), ("tests/hw", "tests"))


TESTS = TestsOf(("tests/hw/test_sums.py",), ("tests/sim/test_users.py",), (), ("tests/hw", "tests"))


@pytest.mark.parametrize(
    ("place", "new", "rest", "ending", "test"),
    [
        pytest.param(
            *("first", "(a - 1)", True, Ending.MIRROR, "tests/hw/test_sums.py::test_first"),
            marks=pytest.mark.exhaustive,
        ),
        ("second", "(a >> 1)", True, Ending.NEAR, "tests/sim/test_users.py::test_twice"),
        pytest.param("third", "(a)", False, Ending.SURVIVED, "", marks=pytest.mark.exhaustive),
        pytest.param(
            *("third", "(a)", True, Ending.FAR, "tests/far/test_far.py::test_third"),
            marks=pytest.mark.exhaustive,
        ),
        pytest.param("fourth", "all", True, Ending.SURVIVED, "", marks=pytest.mark.exhaustive),
    ],
)
def test_where_faults_are_found(
    place: str,
    new: str,
    rest: bool,
    ending: Ending,
    test: str,
    root: Path,
    tmp_path: Path,
) -> None:
    tree, before = Tree(root, tmp_path / "copy", 60), FILES["hw/sums.py"]
    found = tree.judge(fault(place, new), TESTS, rest=rest)
    assert (found.ending, found.test) == (ending, test)
    assert (root / "hw/sums.py").read_text() == before
    assert (tree.copy / "hw/sums.py").read_text() == before


def test_a_net_is_tried_after_what_is_near(root: Path, tmp_path: Path) -> None:
    tests = TestsOf(("tests/hw/test_sums_far.py",), (), (NET,), ())
    found = Tree(root, tmp_path / "copy", 60).judge(fault("second", "(a >> 1)"), tests)
    assert (found.ending, found.test) == (Ending.NET, f"{NET}::test_digests")


@pytest.mark.exhaustive
def test_a_test_that_hangs_has_found_the_fault(root: Path, tmp_path: Path) -> None:
    tree = Tree(root, tmp_path / "copy", 20)
    tests = TestsOf(("tests/far/test_slow.py",), (), (), ())
    outcome = tree.judge(fault("second", "(a >> 1)"), tests)
    assert (outcome.ending, outcome.test) == (Ending.MIRROR, "")


@pytest.mark.exhaustive
def test_a_test_that_fails_anyway_finds_nothing(root: Path, tmp_path: Path) -> None:
    (root / "tests/hw/test_sums.py").write_text("def test_broken():\n    assert False\n")
    tree = Tree(root, tmp_path / "copy", 60)
    tests = TestsOf(("tests/hw/test_sums.py",), (), (), ())
    with pytest.raises(UnclearError, match=r"without a fault .*test_broken fails, too"):
        tree.judge(fault("first", "(a - 1)"), tests)


def report() -> Report:
    """Four faults: two found, one that is no fault, one that nobody has judged."""
    faults = [
        fault("first", "(a - 1)"),
        fault("second", "(a >> 1)"),
        fault("third", "(a)"),
        fault("fourth", "all"),
    ]
    endings = (Ending.MIRROR, Ending.NEAR, Ending.SURVIVED, Ending.SURVIVED)
    outcomes = {
        one.name: Outcome(ending, "", 1.0) for one, ending in zip(faults, endings, strict=True)
    }
    judged = {faults[2].name: Judgement(Worth.EQUIVALENT, "Why.")}
    untried = fault("first", "2")
    return Report((*faults, untried), outcomes, judged)


def test_the_score_leaves_out_what_is_no_fault() -> None:
    found = report()
    assert len(found.tried) == 4
    assert [one.place for one in found.survivors] == ["third", "fourth"]
    assert [one.place for one in found.equivalent] == ["third"]
    assert found.score == 2 / 3
    console = Console(record=True, width=200)
    found.print(console)
    text = console.export_text()
    assert "hw/sums.py:14 hw/sums.py fourth: any => all: not judged" in text
    assert "4 faults, 1 of them equivalent; 2 found: 66.7%" in text


def test_outcomes_are_read_back(tmp_path: Path) -> None:
    path, found = tmp_path / "report.json", report()
    assert read_outcomes(path) == {}
    path.write_text(json.dumps(found.as_data()))
    assert read_outcomes(path) == found.outcomes


def test_a_survivors_patch_plants_it(root: Path, tmp_path: Path) -> None:
    one = fault("fourth", "all")
    patch = write_patch(one, root, tmp_path / "patches")
    subprocess.run(["git", "init", "-q", "."], cwd=root, check=True)
    subprocess.run(["git", "apply", str(patch)], cwd=root, check=True)
    assert (root / "hw/sums.py").read_text() == one.planted(FILES["hw/sums.py"])


def test_the_list_can_be_read() -> None:
    assert all(judgement.reason for judgement in read_judgements(JUDGED.read_text()).values())
    row = "| `a.py f: x | y => (x & y)` | equivalent | Both are masks. |"
    assert read_judgements(row) == {
        "a.py f: x | y => (x & y)": Judgement(Worth.EQUIVALENT, "Both are masks.")
    }
    for text, message in ((f"{row}\n{row}", "twice"), ("| `a` | gap |", "a row has a fault")):
        with pytest.raises(ValueError, match=message):
            read_judgements(text)
