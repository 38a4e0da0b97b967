"""All checks of an installation, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tandem.workbench.installation.cache_folder import cache_check
from tandem.workbench.installation.check import Check
from tandem.workbench.installation.requirements import package_checks
from tandem.workbench.installation.simulators import simulators_check
from tandem.workbench.installation.tools import (
    firmware_check,
    processor_check,
    python_check,
    tool_checks,
)


def examine(say: Callable[[str], None], *, compile_now: bool = False) -> Iterator[Check]:
    """The checks of this installation, one after the other.

    Parameters
    ----------
    say
        A function that is called with the name of what is looked at.
    compile_now
        Compile the simulators, if they are not.
    """
    say("Python and packages")
    yield python_check()
    yield processor_check()
    yield from package_checks()
    say("tools")
    yield from tool_checks()
    yield firmware_check()
    say("the cache")
    yield cache_check()
    say("the simulators")
    yield simulators_check(compile_now=compile_now)
