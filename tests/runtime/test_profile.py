"""Profiles of steps: what several runs took together, and what is known of none."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tandem.runtime.artifact import Step
from tandem.runtime.profile import Profile, StepProfile, StepProfiles, join_steps


@dataclass(frozen=True)
class Counted:
    """A device's measurement: cycles, of the runs in `runs`."""

    cycles: int | None
    runs: tuple[str, ...]

    def with_later(self, later: Counted) -> Counted:
        both = None if self.cycles is None or later.cycles is None else self.cycles + later.cycles
        return Counted(both, self.runs + later.runs)


def profile(macs: int, seconds: float, run: Counted | None) -> StepProfile:
    return StepProfile("y", ("conv2d", "relu"), "accelerator", macs, seconds, run, "why")


def test_runs_of_one_step_are_summed() -> None:
    runs = [
        profile(3, 0.5, Counted(10, ("a",))),
        profile(4, 0.25, None),
        profile(5, 1.0, Counted(100, ("b",))),
        profile(6, 2.0, Counted(1000, ("c",))),
    ]
    joined = join_steps(runs)
    assert joined == profile(18, 3.75, Counted(1110, ("a", "b", "c")))
    assert joined.cycles == 1110
    assert join_steps(runs[:1]) == runs[0]
    assert join_steps(runs[1:2]).run is None
    assert join_steps(runs[1:2]).cycles is None


def test_cycles_of_a_run_are_those_that_are_known() -> None:
    known, none, unknown = (
        profile(1, 0.0, run) for run in (Counted(7, ()), None, Counted(None, ()))
    )
    assert Profile([known, none, unknown, known], 1.0).cycles == 14
    assert Profile([none, unknown], 1.0).cycles is None
    assert Profile([], 1.0).cycles is None
    assert Profile([profile(1, 0.0, Counted(0, ()))], 1.0).cycles == 0
    # None of them is of an accelerator's stream.
    assert Profile([known, none], 1.0).streams == ()


def step(name: str, macs: int, reason: str = "") -> Step:
    return Step(name, "cpu", name, ("x",), (name,), ("add",), macs, reason)


def test_steps_of_a_native_function() -> None:
    steps = [step("a", 5), step("b", 7, "too wide"), step("c", 0)]
    found = StepProfiles(steps, [1_500_000_000, 3, 0], [2, 0, 9])
    assert len(found) == 3
    assert [each.name for each in found] == ["a", "b", "c"]
    assert [each.macs for each in found] == [10, 0, 0]
    assert [each.seconds for each in found] == [1.5, 3e-9, 0.0]
    assert [each.reason for each in found] == [None, "too wide", None]
    assert {each.device for each in found} == {"cpu"}
    assert found[0].operators == ("add",)
    assert found[0].cycles is None
    assert found[0].stream is None
    assert found[-1] == found[2]
    assert found[1:] == (found[1], found[2])
    assert found[::2] == (found[0], found[2])
    with pytest.raises(IndexError):
        found[3]
