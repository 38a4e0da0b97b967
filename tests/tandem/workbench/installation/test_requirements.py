"""`tandem.workbench.installation.requirements`: packages that are missing, too old or too new."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError

import pytest

from tandem.workbench.installation import requirements
from tandem.workbench.installation.requirements import (
    EXTRAS,
    Requirement,
    package_checks,
    parse_requirement,
)


@pytest.mark.parametrize(
    ("line", "package", "versions", "extra"),
    [
        ("numpy>=1.26", "numpy", ">=1.26", ""),
        ("hatchling; extra == 'dev'", "hatchling", "", "dev"),
        ("optuna<6,>=5.0; extra == 'search'", "optuna", "<6,>=5.0", "search"),
        ("amaranth[builtin-yosys]<=0.5.10,>=0.5.9", "amaranth", "<=0.5.10,>=0.5.9", ""),
        (f"a-b.c>1; sys_platform == '{sys.platform}'", "a-b.c", ">1", ""),
    ],
)
def test_lines_of_metadata(line: str, package: str, versions: str, extra: str) -> None:
    assert parse_requirement(line) == Requirement(package, versions, extra)


def test_other_platforms_need_nothing_here() -> None:
    assert parse_requirement("a; sys_platform == 'amiga'") is None
    assert parse_requirement(f"a; sys_platform != '{sys.platform}'") is None
    with pytest.raises(ValueError, match="no requirement: '>= 1'"):
        parse_requirement(">= 1")


@pytest.mark.parametrize(
    ("installed", "versions", "ok"),
    [
        ("5.48.0", ">=5.48,<5.49", True),
        ("5.48", ">=5.48.0", True),
        ("5.49.0", ">=5.48,<5.49", False),
        ("0.70.0.0.post1259", ">=0.70", True),
        ("0.9", ">=0.10", False),
        ("0.10", ">0.9,!=0.11", True),
        ("0.11", "!=0.11", False),
        ("2026.8.0", "==2026.8", True),
        ("1", "", True),
    ],
)
def test_versions(installed: str, versions: str, ok: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "version", lambda package: installed)
    fault = Requirement("a", versions, "").fault()
    assert fault == ("" if ok else f"a {installed} is not {versions}")


def test_this_environment_has_what_is_needed() -> None:
    checks = {check.name: check for check in package_checks()}
    assert checks["packages"].ok
    assert checks["packages"].required
    assert not checks["packages"].remedy
    assert "numpy " in checks["packages"].detail
    assert "llvmlite " in checks["packages"].detail
    assert {f"extra {extra}" for extra in EXTRAS} < {*checks}
    assert not any(check.required for name, check in checks.items() if name != "packages")


def test_what_is_missing_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(package: str) -> str:
        if package in ("llvmlite", "optuna"):
            raise PackageNotFoundError(package)
        return "9999"

    monkeypatch.setattr(requirements, "version", version)
    monkeypatch.setattr(
        requirements,
        "requires",
        lambda name: ["numpy>=1", "llvmlite>=0.45", "optuna; extra == 'search'"],
    )
    checks = {check.name: check for check in package_checks()}
    assert (checks["packages"].ok, checks["packages"].detail) == (False, "llvmlite is missing")
    assert checks["packages"].remedy == "pip install --upgrade tandem-workbench"
    assert checks["extra search"].detail == "optuna is missing (tandem search)"
    assert checks["extra search"].remedy == "pip install 'tandem-workbench[search]'"
    assert checks["extra bench"].ok


def test_a_clone_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def requires(name: str) -> list[str]:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(requirements, "requires", requires)
    (check,) = package_checks()
    assert not check.ok
    assert check.required
    assert "make setup" in check.remedy
