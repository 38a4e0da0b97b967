"""Random programs of the whole language as C libraries: they compute what the evaluator does."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tandem.compiler.driver import build
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse_function
from tandem.compiler.graph.types import leaves
from tandem.runtime.artifact import Provenance
from tandem.workbench.export import export_library
from tests.compiler.driver import random_closures, random_programs
from tests.compiler.driver.test_control_flow import kept
from tests.support.workbench.cross import make

STRICT = "CFLAGS=-std=c99 -O1 -Wall -Wextra -Wpedantic -Werror"
CHECKED = "-fsanitize=address,undefined -fno-sanitize-recover=all"
MOST_VALUES = 3000
"""Programs that compute more are left out: functions that call functions may be slow."""
SEEN: Counter[str] = Counter()

_numbers = st.lists(st.integers(-5, 5), min_size=3, max_size=3)
_programs = st.one_of(random_closures.programs(), random_programs.programs())


class _TooSlow(Exception):
    """A program computes more than `MOST_VALUES` values."""


def agrees_in_c(program: str, measure: int, a: list[int], b: list[int], *flags: str) -> None:
    """The C library of a program gives what the evaluator does."""
    function = parse_function(program, OPERATORS)
    target, backends, runner = kept()
    values = [np.array(measure), np.array(a, np.int32), np.array(b, np.int32)]
    computed = 0

    def observe(*_: object) -> None:
        nonlocal computed
        computed += 1
        if computed > MOST_VALUES:
            raise _TooSlow

    try:
        wanted = evaluate(function, values, runner, observe)
    except _TooSlow:
        assume(False)
    artifact = build(function, [target], Provenance("net"), backends=backends)
    names = [port.name for port in artifact.manifest.inputs]
    outputs = [port.name for port in artifact.manifest.results]
    with TemporaryDirectory() as folder:
        export_library(
            artifact,
            Path(folder),
            dict(zip(names, values, strict=True)),
            dict(zip(outputs, leaves(wanted), strict=True)),
        )
        assert make(Path(folder), "check", *(flags or (STRICT,))) == "as expected\n"
    SEEN["agreed"] += 1
    SEEN["with a heap"] += bool(artifact.manifest.forms)


@settings(max_examples=2, deadline=None, suppress_health_check=[*HealthCheck])
@given(_programs, st.integers(-1, 3), _numbers, _numbers)
def test_a_few_programs(program: str, measure: int, a: list[int], b: list[int]) -> None:
    agrees_in_c(program, measure, a, b)


@settings(max_examples=300, deadline=None, suppress_health_check=[*HealthCheck])
@given(_programs, st.integers(-1, 3), _numbers, _numbers)
def _many_programs(program: str, measure: int, a: list[int], b: list[int]) -> None:
    agrees_in_c(program, measure, a, b)


@settings(max_examples=40, deadline=None, suppress_health_check=[*HealthCheck])
@given(random_closures.programs(), st.integers(-1, 3), _numbers, _numbers)
def _checked_programs(program: str, measure: int, a: list[int], b: list[int]) -> None:
    flags = (f"CFLAGS=-std=c99 -g {CHECKED}", f"LDFLAGS={CHECKED}")
    agrees_in_c(program, measure, a, b, *flags)


@pytest.mark.exhaustive
def test_programs() -> None:
    SEEN.clear()
    _many_programs()
    assert SEEN["with a heap"] > SEEN["agreed"] / 50


@pytest.mark.exhaustive
def test_programs_stay_in_their_memory() -> None:
    _checked_programs()
