"""Requirements of the installed distribution, compared with the packages that are there.

Packages are read by hand and not by `packaging`, which may be missing itself: requirements of ours
have minimum and maximum versions, extras, and markers of a platform.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from operator import eq, ge, gt, le, lt, ne

from tandem.workbench.installation.check import Check

DISTRIBUTION = "tandem-workbench"
EXTRAS = {
    "synth": "tandem rtl --resources and --timing",
    "report": "pages and charts",
    "search": "tandem search",
    "soc": "tandem soc and tandem.litex",
    "bench": "benches compare with it",
    "distributed": "tandem tune --scheduler, on a Dask cluster",
}
"""What each extra is for."""
INTEGRATIONS = {
    "torch": "tandem.load of a PyTorch module",
    "pandas": "Table.to_pandas",
}
"""Packages that are used where they are installed, and that no extra brings."""

_FORM = re.compile(r"([\w.-]+)(?:\[[\w,.-]+\])?\s*([^;]*)(?:;\s*(.*))?")
_BOUND = re.compile(r"(>=|<=|==|!=|>|<)\s*([\w.]+)")
_COMPARISONS = {">=": ge, "<=": le, "==": eq, "!=": ne, ">": gt, "<": lt}
_EXTRA = re.compile(r"extra == ['\"](\w+)['\"]")
_PLATFORM = re.compile(r"sys_platform (==|!=) ['\"](\w+)['\"]")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A package that is needed.

    Attributes
    ----------
    package
        The name of the distribution.
    versions
        The versions that are allowed, as `>=5.0,<6`.
    extra
        The extra that needs the package; empty if all do.
    """

    package: str
    versions: str
    extra: str

    def fault(self) -> str:
        """What is wrong with the installed package, in a few words; empty if nothing is."""
        try:
            found = version(self.package)
        except PackageNotFoundError:
            return f"{self.package} is missing"
        bounds = _BOUND.findall(self.versions)
        if all(_COMPARISONS[sign](_parts(found), _parts(bound)) for sign, bound in bounds):
            return ""
        return f"{self.package} {found} is not {self.versions}"


def parse_requirement(text: str) -> Requirement | None:
    """The requirement of a line of metadata; None if it is one of other platforms."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"no requirement: {text!r}")
    package, versions, marker = found.groups()
    for sign, name in _PLATFORM.findall(marker or ""):
        if not _COMPARISONS[sign](sys.platform, name):
            return None
    extra = _EXTRA.search(marker or "")
    return Requirement(package, versions.strip(), extra.group(1) if extra else "")


def package_checks() -> list[Check]:
    """A check of the packages that are always needed, and one for each extra and integration."""
    try:
        lines = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        remedy = "in a clone: make setup, or pip install -e ."
        return [Check("packages", False, True, f"{DISTRIBUTION} is not installed", remedy)]
    needed = [found for line in lines if (found := parse_requirement(line)) is not None]
    checks = [_check("packages", "", needed, "", required=True)]
    for extra, purpose in EXTRAS.items():
        checks.append(_check(f"extra {extra}", purpose, needed, extra, required=False))
    for package, purpose in INTEGRATIONS.items():
        fault = Requirement(package, "", "").fault()
        remedy = f"pip install {package}" if fault else ""
        text = fault or f"{package} {version(package)}"
        checks.append(Check(package, not fault, False, f"{text} ({purpose})", remedy))
    return checks


def _check(
    name: str, purpose: str, requirements: Sequence[Requirement], extra: str, *, required: bool
) -> Check:
    """The check of the packages of one extra."""
    wanted = [requirement for requirement in requirements if requirement.extra == extra]
    faults = [fault for requirement in wanted if (fault := requirement.fault())]
    if not faults:
        found = ", ".join(f"{each.package} {version(each.package)}" for each in wanted)
        return Check(name, True, required, f"{found} ({purpose})" if purpose else found)
    install = f"'{DISTRIBUTION}[{extra}]'" if extra else f"--upgrade {DISTRIBUTION}"
    detail = "; ".join(faults) + (f" ({purpose})" if purpose else "")
    return Check(name, False, required, detail, f"pip install {install}")


def _parts(text: str) -> tuple[int, ...]:
    """The numbers of a release, without zeros at its end: (5, 48) of `5.48.0.post1`."""
    release = re.match(r"\d+(\.\d+)*", text)
    numbers = [int(part) for part in release.group().split(".")] if release else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
