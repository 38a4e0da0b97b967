"""Barriers where threads would race without: results in every order, and their number."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import IRError
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.gpu.check.races import RaceError
from tandem.compiler.machines.gpu.interpreter import Order, run_launch
from tandem.compiler.machines.gpu.launch import INTRINSICS
from tandem.compiler.machines.gpu.lower.barriers import with_barriers

UNIFORM = frozenset({"k"})
WAIT = "invoke barrier()"


def launch(body: str) -> PrimFunc:
    """Two blocks of four threads."""
    lines = "\n".join(f"      {line}" for line in body.splitlines())
    return parse(
        f"""func f(A: int32[8]) -> (C: int32[8]):
  for gpu.block in 2 blocks:
    alloc S: int32[4] @ shared
    for gpu.thread in 4 threads:
{lines}
""",
        INTRINSICS,
    )


PUT = "S[gpu.thread] = A[gpu.block * 4 + gpu.thread]\n"
TAKE = "C[gpu.block * 4 + gpu.thread] = S[3 - gpu.thread]\n"
OWN = "C[gpu.block * 4 + gpu.thread] = S[gpu.thread]\n"
SUMS = """\
C[gpu.block * 4 + gpu.thread] = 0
for k in 3:
  S[gpu.thread] = A[gpu.block * 4 + gpu.thread] + int32(k)
  C[gpu.block * 4 + gpu.thread] = C[gpu.block * 4 + gpu.thread] + S[3 - gpu.thread]
"""
LATER = f"{PUT}for k in 3:\n  C[gpu.block * 4 + gpu.thread] = S[3 - gpu.thread] + int32(k)\n"
DATA = np.array([3, 1, 4, 1, 5, 9, 2, 6], np.int32)
TURNED = DATA.reshape(2, 4)[:, ::-1].reshape(-1)

CASES = {
    "one": (PUT + TAKE, TURNED, 1),
    "none": (PUT + OWN, DATA, 0),
    "superfluous": (f"{WAIT}\n{PUT}{WAIT}\n{WAIT}\n{OWN}", DATA, 0),
    "one of several": (f"{PUT}{WAIT}\n{WAIT}\n{TAKE}{WAIT}", TURNED, 1),
    # Before what others wrote is read, and before it is written again.
    "a loop": (SUMS, 3 * TURNED + 3, 2),
    # In front of the loop, not in it.
    "before a loop": (LATER, TURNED + 2, 1),
    "two": (f"{PUT}{TAKE}S[gpu.thread] = 7\n", TURNED, 2),
}


@pytest.mark.parametrize("case", CASES)
def test_results_in_every_order(case: str) -> None:
    body, wanted, count = CASES[case]
    found = with_barriers(launch(body), UNIFORM)
    assert text(found).count(WAIT) == count
    for order in Order:
        for seed in range(6):
            (result,) = run_launch(found, [DATA], order, seed)
            np.testing.assert_array_equal(result, wanted)


def test_they_are_in_front_of_loops() -> None:
    lines = text(with_barriers(launch(LATER), UNIFORM)).splitlines()
    (at,) = (number for number, line in enumerate(lines) if WAIT in line)
    assert lines[at + 1].strip() == "for k in 3:"


@pytest.mark.parametrize("body", [PUT + TAKE, SUMS])
def test_without_them_threads_race(body: str) -> None:
    with pytest.raises(IRError, match="is read before it is written"):
        run_launch(launch(body), [DATA], Order.FORWARDS)


def test_a_race_within_a_statement() -> None:
    body = f"{PUT}{WAIT}\nS[gpu.thread] = S[3 - gpu.thread]\n{OWN}"
    with pytest.raises(RaceError, match=r"^f: .*, and none can$"):
        with_barriers(launch(body), UNIFORM)
