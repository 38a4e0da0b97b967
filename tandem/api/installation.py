"""`tandem.doctor`: what is installed, what is missing, and what to do."""

from __future__ import annotations

from tandem.api.progress import Progress, steps_of
from tandem.workbench.installation.check import Check
from tandem.workbench.installation.examine import examine
from tandem.workbench.table import Column, Table

_COLUMNS = (
    Column("name", str, "what was looked for"),
    Column("ok", bool, "whether it is there and can be used"),
    Column("required", bool, "whether what is installed by default needs it"),
    Column("detail", str, "what was found, or what is missing"),
    Column("remedy", str, "what to do; empty if nothing is to be done"),
)


def doctor(*, compile_now: bool = False, progress: Progress = None) -> Table:
    """What is installed, what is missing, and what to do: a row for each check.

    The simulators are tried with a convolution, whose result is compared with NumPy's.

    Parameters
    ----------
    compile_now
        Compile the simulators, if they are not: the first run does it otherwise.
    progress
        As of `Session.run`.
    """
    checks: list[Check] = []
    with steps_of("doctor", progress) as steps:
        checks.extend(examine(steps.say, compile_now=compile_now))
    return checks_table(checks)


def checks_table(checks: list[Check]) -> Table:
    """Checks as a table."""
    return Table(
        _COLUMNS,
        tuple(
            (check.name, check.ok, check.required, check.detail, check.remedy) for check in checks
        ),
    )
