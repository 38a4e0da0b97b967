"""A mutant that does harm is found, the original is not; ways in which tests end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.rtl.verilog import VerilogDesign
from tandem.sim.rtl.design import verilog_of
from tests.mutation.killing import BUILD_SECONDS, TESTS, VerdictKind, run_tests
from tests.mutation.mutants import list_mutants
from tests.mutation.planting import plant
from tests.mutation.plugin import load_planted, save_planted

ROOT = Path(__file__).parents[2]
TINY = load_config("tiny")
RANDOM_PROGRAMS = ("tests/cosim/test_random_programs.py::test_few[tiny]",)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first mutant inverts what a product's register holds."""
    design = verilog_of(TINY)
    found = list_mutants(design, ["tandem_mac"], 40, 1)
    wanted = [mutant for mutant in found if (mutant.mode, mutant.port) == ("inv", "Q")]
    path = tmp_path_factory.mktemp("planted") / "planted.json"
    save_planted(path, TINY, plant(design, wanted[:1]))
    return path


def test_the_file_of_a_planted_design(tmp_path: Path) -> None:
    design = VerilogDesign("m", {"m.v": "module m; endmodule\n"}, ("m",))
    save_planted(tmp_path / "planted.json", TINY, design)
    assert load_planted(tmp_path / "planted.json") == (TINY, design)


@pytest.mark.exhaustive
def test_the_original_survives(planted: Path) -> None:
    verdict = run_tests(RANDOM_PROGRAMS, planted, 0, test_seconds=BUILD_SECONDS)
    assert verdict.kind is VerdictKind.SURVIVED


@pytest.mark.exhaustive
def test_a_wrong_product_is_found(planted: Path) -> None:
    verdict = run_tests(RANDOM_PROGRAMS, planted, 1)
    assert (verdict.kind, verdict.test) == (VerdictKind.FAILED, RANDOM_PROGRAMS[0])
    assert verdict.killed


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("while True: pass", VerdictKind.HUNG),
        ("pass", VerdictKind.SURVIVED),
        ("assert False", VerdictKind.FAILED),
        ("import os; os.abort()", VerdictKind.CRASHED),
    ],
    ids=lambda value: value.value if isinstance(value, VerdictKind) else "",
)
def test_endings(planted: Path, tmp_path: Path, body: str, kind: VerdictKind) -> None:
    (tmp_path / "test_it.py").write_text(f"def test_it():\n    {body}\n")
    verdict = run_tests([str(tmp_path / "test_it.py")], planted, 1, test_seconds=1)
    assert verdict.kind is kind
    assert verdict.killed == verdict.test.endswith("test_it.py::test_it")


@pytest.mark.exhaustive
def test_tests_that_are_not_there(planted: Path, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"before its first test:(?s:.*)not found"):
        run_tests([str(tmp_path / "test_none.py")], planted, 1)


@pytest.mark.parametrize("tests", TESTS.values(), ids=TESTS.keys())
def test_the_tests_that_kill_are_there(tests: tuple[str, ...]) -> None:
    files = [name.partition("::")[0] for name in tests if name.startswith("tests/")]
    assert files
    assert all((ROOT / file).is_file() for file in files)
