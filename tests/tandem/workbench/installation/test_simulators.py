"""`tandem.workbench.installation.simulators`: a convolution, compiled, simulated and compared."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tandem.workbench.errors import WrongResultError
from tandem.workbench.installation.simulators import simulators_check


def test_they_are_tried() -> None:
    check = simulators_check(compile_now=True)
    assert check.ok
    assert "cycles on small8, " in check.detail
    assert "small8-x" in check.detail


def test_a_wrong_result_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*arguments: object) -> None:
        raise WrongResultError("3 of 256 elements differ")

    # The package has a function of that name.
    module = sys.modules["tandem.workbench.utilization.measure"]
    monkeypatch.setattr(module, "_compare", wrong)
    check = simulators_check(compile_now=True)
    assert not check.ok
    assert check.required
    assert "3 of 256 elements differ" in check.detail


def test_they_are_not_compiled_unasked(tmp_path: Path) -> None:
    program = (
        "from tandem.workbench.installation.simulators import simulators_check\n"
        "check = simulators_check()\n"
        "print(check.ok, check.detail, check.remedy, sep='|')\n"
    )
    environment = {"TANDEM_CACHE": str(tmp_path), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    ok, detail, remedy = done.stdout.strip().split("|")
    assert (ok, remedy) == ("True", "tandem doctor --compile does it now")
    assert detail.startswith("not compiled yet")
    assert done.stderr == ""
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
