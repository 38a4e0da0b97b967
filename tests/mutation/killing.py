"""Does any of the quick tests fail on a mutant?"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from time import perf_counter

from tests.mutation.planting import NUMBER_VARIABLE

_NOT_THESE = (
    # They compare the Verilog with Amaranth's simulation of the same source. A mistake in the
    # source would be in both, so that to fail here proves nothing for a mutant.
    "not pysim and not amaranth and not functional "
    # Two more builds, for tests of the waveform files.
    "and not fst and not vcd and not waveform"
)
TESTS: Mapping[str, tuple[str, ...]] = {
    "tiny": (
        "tests/cosim/test_random_programs.py::test_few[tiny]",
        "tests/cosim/test_faults.py",
        "tests/sim/rtl/test_engines.py",
        "tests/sim/test_fill.py",
        "tests/scripts/test_sim.py",
        "tests/cosim/test_cycles.py",
        "tests/sim/rtl/test_registers.py",
        "tests/sim/rtl/test_strides.py",
        "tests/cocotb/test_benches.py",
        "tests/sim/rtl/test_far_places.py",
        "tests/sim/rtl/test_instruction_numbers.py",
        "tests/cosim/test_bus_timeout.py",
        *("-k", f"{_NOT_THESE} and not icarus and not bus128 and not tiny-x and not small8"),
    ),
    "small8": (
        "tests/cosim/test_random_programs.py::test_few[small8]",
        "tests/sim/rtl/test_engines.py",
        "tests/cosim/test_cycles.py::test_vectors",
        "tests/sim/rtl/test_strides.py",
        "tests/sim/rtl/test_far_places.py",
        "tests/sim/rtl/test_instruction_numbers.py",
        "tests/cosim/test_bus_timeout.py",
        *("-k", f"(small8 or cycles) and {_NOT_THESE}"),
    ),
    "tiny-x": (
        "tests/cosim/test_random_programs.py::test_few[tiny-x]",
        "tests/cosim/test_requantisation.py",
        "tests/cosim/test_faults.py",
        "tests/sim/rtl/test_registers.py",
        "tests/sim/rtl/test_strides.py",
        "tests/cosim/test_timing_rules.py::test_few",
        "tests/cosim/test_cycle_engine.py::test_few[tiny-x]",
        "tests/sim/rtl/test_far_places.py",
        "tests/sim/rtl/test_instruction_numbers.py",
        "tests/cosim/test_bus_timeout.py",
        *("-k", f"(tiny-x or requantisation) and {_NOT_THESE}"),
    ),
    "tiny-w": (
        "tests/cosim/test_random_programs.py::test_few[tiny-w]",
        "tests/cosim/test_coded_weights.py",
        "tests/cosim/test_cycle_engine.py::test_few[tiny-w]",
        "tests/cosim/test_faults.py",
        "tests/sim/rtl/test_strides.py",
        "tests/sim/rtl/test_far_places.py",
        *("-k", f"(tiny-w or coded_weights) and {_NOT_THESE}"),
    ),
    "tiny-found": (
        "tests/sim/rtl/test_found_operations.py",
        "tests/cosim/test_custom_operations.py::test_few[tiny-found]",
        *("-k", "tiny-found"),
    ),
    "tiny-packed": (
        "tests/sim/rtl/test_found_operations.py",
        "tests/cosim/test_custom_operations.py::test_few[tiny-packed]",
        *("-k", "tiny-packed"),
    ),
}
"""By configuration: the tests of the quick set that run its Verilog, the quickest killers first."""

_ROOT = Path(__file__).parents[2]
_ALL_SECONDS = 900
TEST_SECONDS = 90
"""A test that takes longer hangs."""
BUILD_SECONDS = _ALL_SECONDS
"""The same of the first run of all, which builds what the others find in the cache."""
_PASSED, _FAILED = 0, 1


class VerdictKind(Enum):
    """How the tests ended."""

    SURVIVED = "survived"
    FAILED = "failed"
    HUNG = "hung"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the tests say of one mutant; `test` is the one that found it, or empty."""

    kind: VerdictKind
    test: str
    seconds: float

    @property
    def killed(self) -> bool:
        """Whether some test noticed."""
        return self.kind is not VerdictKind.SURVIVED


def run_tests(
    tests: Sequence[str], planted: Path, number: int, *, test_seconds: int = TEST_SECONDS
) -> Verdict:
    """Run `tests` on mutant `number` of the design in `planted`, up to the first failure.

    Raises
    ------
    RuntimeError
        pytest did not come as far as to run tests.
    """
    started = perf_counter()
    with tempfile.TemporaryDirectory() as name:
        running = Path(name) / "running"
        code = _pytest(
            *("-p", "tests.mutation.plugin", "--planted", str(planted), "--running", str(running)),
            *("-p", "no:cacheprovider", "-p", "no:xdist", "--basetemp", f"{name}/base"),
            *("-x", "-q", "-o", f"timeout={test_seconds}"),
            *tests,
            log=Path(name) / "log",
            number=number,
        )
        seconds = perf_counter() - started
        if code == _PASSED:
            return Verdict(VerdictKind.SURVIVED, "", seconds)
        log = (Path(name) / "log").read_text(errors="replace")
        if not running.is_file():
            raise RuntimeError(f"pytest ended with {code} before its first test:\n{log}")
        test = running.read_text()
        if code is None or (code == _FAILED and "Failed: Timeout" in log):
            return Verdict(VerdictKind.HUNG, test, seconds)
        return Verdict(
            VerdictKind.FAILED if code == _FAILED else VerdictKind.CRASHED, test, seconds
        )


def _pytest(*arguments: str, log: Path, number: int) -> int | None:
    """Its exit code, or None where it had to be stopped."""
    environment = {
        **os.environ,
        NUMBER_VARIABLE: str(number),
        # Draws the same examples for every mutant.
        "CI": "1",
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *arguments],
            cwd=_ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return process.wait(_ALL_SECONDS)
        except subprocess.TimeoutExpired:
            return None
        finally:
            # The simulators that it started too.
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
