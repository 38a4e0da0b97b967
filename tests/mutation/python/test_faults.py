"""Faults of Python source: which there are, and what they change."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutation.python.faults import Fault, Kind, list_faults
from tests.mutation.python.sample import sample

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "hw" / "hazards" / "conflicts.py"


def changes(text: str) -> list[str]:
    """The changes of a text, as `old => new`."""
    return [fault.name.partition(": ")[2] for fault in list_faults("a.py", text)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x = a < b", ["a < b => a <= b"]),
        ("x = a is not b", ["a is not b => a is b"]),
        ("x = a in b", ["a in b => a not in b"]),
        ("x = a <= b != c", ["a <= b != c => a < b != c", "a <= b != c => a <= b == c"]),
        ("x = a and b or c", ["a and b => (a or b)", "a and b or c => ((a and b) and c)"]),
        ("x = not a", ["not a => (a)"]),
        ("x = any(a)", ["any => all"]),
        ("x = max(a, b)", ["max => min"]),
        ("x = a + b", ["a + b => (a - b)"]),
        ("x = a << b", ["a << b => (a >> b)"]),
        ("x = 'a' + b", []),
        ("x = [a] + b", []),
        ("x = 7", ["7 => 8"]),
        ("x = True", ["True => False"]),
        ("x = 'text'", []),
        ("x = a[b:c]", ["b:c => :c", "b:c => b:"]),
        ("x = f(a, b)", ["f(a, b) => f(b, a)"]),
        ("x = f(a, a)", []),
        ("x = f(*a, b)", []),
        ("x = np.minimum(a, b)", []),
        ("x = a if b else c", ["a if b else c => (c if b else a)"]),
        ("f()", ["f() => pass"]),
        ("x += y", ["x += y => pass"]),
        ("x = y.pop()", ["y.pop() => y[-1]"]),
        ("def f():\n    return a", ["return a => pass", "return a => return None"]),
        ("def f():\n    return", ["return => pass"]),
        ("def f():\n    return False", ["return False => pass", "False => True"]),
        ("def f():\n    raise E(1)", ["raise E(1) => pass"]),
        ("for a in b:\n    continue", ["continue => break"]),
        ("for a in b:\n    break", ["break => pass"]),
        ("assert a < b", []),
        ("x: int = a", []),
        ("x: Literal[1] = a", []),
        ("X: TypeAlias = Literal[1]", []),
        ("if TYPE_CHECKING:\n    x = 1", []),
        ("@dataclass(frozen=True)\nclass A:\n    '''Text.'''", []),
        ("def f(a: Literal[1] = 2) -> Literal[3]: pass", ["2 => 3"]),
        ("x = f'{a < b}'", []),
    ],
)
def test_changes(text: str, wanted: list[str]) -> None:
    assert sorted(changes(text)) == sorted(wanted)


def test_a_name_tells_where_and_which() -> None:
    text = "class A:\n    def f(self):\n        return g(1, 1)\n\n    x = 1\n"
    names = [fault.name for fault in list_faults("p/a.py", text) if fault.kind is Kind.CONSTANT]
    assert names == ["p/a.py A.f: 1 => 2", "p/a.py A.f: 1 => 2 (2)", "p/a.py A: 1 => 2"]
    lines = [fault.line for fault in list_faults("p/a.py", text) if fault.kind is Kind.CONSTANT]
    assert lines == [3, 3, 5]


def test_only_the_fault_is_changed_also_behind_other_alphabets() -> None:
    text = "π = 'ä'; x = a < b  # ö\ny = (\n    a\n    < b\n)\n"
    planted = [fault.planted(text) for fault in list_faults("a.py", text)]
    assert planted == [
        "π = 'ä'; x = a <= b  # ö\ny = (\n    a\n    < b\n)\n",
        "π = 'ä'; x = a < b  # ö\ny = (\n    a <= b\n)\n",
    ]


def test_every_fault_of_a_file_is_another_program() -> None:
    text = SOURCE.read_text()
    plain = ast.dump(ast.parse(text))
    faults = list_faults("hw/hazards/conflicts.py", text)
    assert len(faults) > 40
    assert all(ast.dump(ast.parse(fault.planted(text))) != plain for fault in faults)
    assert len({fault.name for fault in faults}) == len(faults)


def test_a_sample_has_the_same_faults_for_the_same_seed_and_of_all_kinds() -> None:
    faults = list_faults("hw/hazards/conflicts.py", SOURCE.read_text())
    found: list[list[Fault]] = [sample(faults, 20, seed) for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    assert len(set(found[0])) == 20
    assert {fault.kind for fault in sample(faults, 40, 3)} == {fault.kind for fault in faults}
    assert {*sample(faults, 10_000, 1)} == {*faults}
    assert sample(faults, 7, 1) == found[0][:7]
