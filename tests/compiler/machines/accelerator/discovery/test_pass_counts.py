"""What passes are for, and the most that operations could save: by hand."""

from __future__ import annotations

from tandem.compiler.machines.accelerator.discovery.loop_passes import LoopPass, PassKind
from tandem.compiler.machines.accelerator.discovery.pass_counts import PassCounts, counted
from tandem.hw.operations import AluOp

POOLED = (
    LoopPass(AluOp.ADD, "max", None, PassKind.START, 16),
    LoopPass(AluOp.MUL, "max", None, PassKind.START, 16),
    LoopPass(AluOp.MAX, "max", "sums", PassKind.TERM, 100),
    LoopPass(AluOp.MUL, "max", "scales", PassKind.NUMBER, 16),
    LoopPass(AluOp.SHR, "max", None, PassKind.NUMBER, 16),
)
"""Maxima of sums, which are requantised."""
RESIDUAL = (
    LoopPass(AluOp.MUL, "skip", None, PassKind.NUMBER, 8),
    LoopPass(AluOp.ADD, "sums", "skip", PassKind.ELEMENT, 8),
    LoopPass(AluOp.SHR, "sums", None, PassKind.NUMBER, 8),
)
MOVED = (
    LoopPass(AluOp.ADD, "moved", "sums", PassKind.COPY, 4),
    LoopPass(AluOp.SHR, "moved", "amounts", PassKind.NUMBER, 4),
)


def test_windows() -> None:
    """The initial values, and the last term with the step behind it: no more can be saved, as each
    of the other passes takes a term that no other pass takes for this result."""
    found = counted(POOLED, ports=2)
    assert found == PassCounts(numbers=32, terms=100, starts=32, results=16)
    assert (found.windows, found.saved_of_windows, found.total) == (132, 48, 164)
    assert found.reasons == (
        "counts: reductions take 132 cycles, 100 of them a term each: no more than 48 can be saved",
    )
    # Without requantisation behind it, nothing but the initial values.
    assert counted(POOLED[:3], ports=2).saved_of_windows == 32


def test_residuals_and_copies() -> None:
    found = counted(RESIDUAL, 2) + counted(MOVED, 2)
    assert found == PassCounts(numbers=8, residuals=16, copies=8)
    (reason,) = found.reasons
    assert reason.endswith("no more than 4 can be saved")
    assert PassCounts(numbers=8).reasons == ()


def test_one_port() -> None:
    """A second operand in ACC takes a cycle of its own."""
    assert counted(RESIDUAL, ports=1) == PassCounts(numbers=8, residuals=8 + 16)
    assert counted(POOLED, ports=1) == PassCounts(48, terms=200, starts=32, results=16)
