"""The proof that threads of a warp multiply together: what it accepts, and what it refuses."""

from __future__ import annotations

import pytest

from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.printer import text
from tandem.compiler.machines.gpu.check.warps import WarpError, check_warps
from tandem.compiler.machines.gpu.launch import INTRINSICS, THREAD, GpuProgram
from tandem.compiler.machines.gpu.warps import WARP_PRODUCTS
from tests.support.compiler.machines.gpu.faults import faults, found_by
from tests.support.compiler.machines.gpu.warps import warp_arrays, warp_program

LEGAL = {
    "own rows and columns": warp_program(),
    "other rows": warp_program(row="7 - gpu.thread // 4 % 8"),
    "the same rows": warp_program(row="3"),
    "columns by the loop": warp_program(
        around="for step in 4 unrolled:", column="(gpu.thread % 4 + step) % 4"
    ),
    "two warps": warp_program(threads=64, column="(gpu.thread // 32 + gpu.thread) % 4"),
}
REFUSED = {
    "mma_int8_int8 is under a condition, which may diverge": warp_program(
        around="if gpu.thread < 16:"
    ),
    "mma_int8_int8 is in the loop step, which may diverge": warp_program(
        around="for step in gpu.thread:"
    ),
    "mma_int8_int8 on 48 threads, which are no whole warps": warp_program(threads=48),
    "of a: lanes with the same rows have not the same": warp_program(row="gpu.thread % 8"),
    "of b: lanes with the same columns have not the same": warp_program(column="gpu.thread // 8"),
    "of a: lanes with the same rows": warp_program(
        around="for step in 2:", row="(gpu.thread // 4 + gpu.thread % 4 * step) % 8"
    ),
    "which thread has which operand is not known": warp_program(row="int64(A[gpu.thread % 16, 0])"),
}


@pytest.mark.parametrize("name", LEGAL)
def test_legal(name: str) -> None:
    (launch,) = LEGAL[name].launches
    check_warps(launch)


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message: str) -> None:
    (launch,) = REFUSED[message].launches
    with pytest.raises(WarpError, match=f"f: {message}" if message[0] == "m" else message):
        check_warps(launch)


def test_planted_faults() -> None:
    """Operands of another thread: the proof finds what the interpreter, too, finds by numbers."""
    program = warp_program()
    (launch,) = program.launches
    arrays, wanted = warp_arrays(program)
    assert found_by(launch, arrays, wanted) is None
    found = {name: found_by(planted, arrays, wanted) for name, planted in faults(launch)}
    assert all(found.values())
    assert [*found.values()].count("checker") >= 4


def test_launches_are_compared_as_they_are() -> None:
    """A launch without products needs no whole warps."""
    (launch,) = warp_program(threads=40).launches
    name = WARP_PRODUCTS[next(iter(WARP_PRODUCTS))].name
    lines = [each for each in text(launch).splitlines() if "mma" not in each and "once" not in each]
    plain = parse("\n".join(lines) + "\n", INTRINSICS)
    check_warps(plain)
    assert name not in text(plain)
    assert THREAD.name in text(plain)
    assert GpuProgram("f", plain.inputs, plain.outputs, (), (plain,)).launches == (plain,)
