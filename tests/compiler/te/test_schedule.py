"""Methods of schedules and sketches: the primitive that each records, to the last argument."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import pytest

from tandem.compiler.errors import IRError, ScheduleError
from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.ir.expr import Const
from tandem.compiler.ir.stmt import PrimFunc, Seq, Store
from tandem.compiler.ir.verify import verify
from tandem.compiler.te import primitives
from tandem.compiler.te.knobs import When, knob
from tandem.compiler.te.primitives import Reorder, Split, Vectorize
from tandem.compiler.te.primitives.base import Primitive
from tandem.compiler.te.schedule import Schedule, Sketch
from tests.support.compiler.te.schedules import matmul, relu_of_sum

EMPTY = PrimFunc("mac", (), (), Seq(()))
START = PrimFunc("zero", (), (), Seq(()))


@pytest.mark.parametrize(
    ("record", "steps"),
    [
        (lambda s: s.split("C", "i", 4), [Split("C", "i", 4)]),
        (lambda s: s.split("C", "i", 4, ("a", "b")), [Split("C", "i", 4, ("a", "b"))]),
        (
            lambda s: s.tile("C", ("i", "j"), (2, 4), ("a", "b", "c", "d")),
            [
                Split("C", "i", 2, ("a", "c")),
                Split("C", "j", 4, ("b", "d")),
                Reorder("C", ("a", "b", "c", "d")),
            ],
        ),
        (lambda s: s.fuse("C", "i", "j"), [primitives.Fuse("C", "i", "j", "")]),
        (lambda s: s.fuse("C", "i", "j", "f"), [primitives.Fuse("C", "i", "j", "f")]),
        (lambda s: s.reorder("C", "j", "i"), [Reorder("C", ("j", "i"))]),
        (lambda s: s.reorder("C", "i"), [Reorder("C", ("i",))]),
        (lambda s: s.reorder("C"), [Reorder("C", ())]),
        (lambda s: s.reorder("C", knob("o")), [Reorder("C", knob("o"))]),
        (lambda s: s.reorder("C", knob("o"), "i"), [Reorder("C", (knob("o"), "i"))]),
        (
            lambda s: s.reorder("C", "k", "i", reassociate=True),
            [Reorder("C", ("k", "i"), reassociate=True)],
        ),
        (lambda s: s.partition("C", "i", 3), [primitives.Partition("C", "i", 3, "tail")]),
        (lambda s: s.partition("C", "i", 3, "r"), [primitives.Partition("C", "i", 3, "r")]),
        (lambda s: s.vectorize("C", "j"), [Vectorize("C", "j")]),
        (
            lambda s: s.vectorize("C", "j", reassociate=True),
            [Vectorize("C", "j", reassociate=True)],
        ),
        (
            lambda s: s.vectorize("C", "j", 8, reassociate=True),
            [Split("C", "j", 8, ("j", "j_v")), Vectorize("C", "j_v", reassociate=True)],
        ),
        (
            lambda s: s.vectorize("C", "j", 8),
            [Split("C", "j", 8, ("j", "j_v")), Vectorize("C", "j_v")],
        ),
        (lambda s: s.unroll("C", "j"), [primitives.Unroll("C", "j")]),
        (lambda s: s.parallel("C", "j"), [primitives.Parallel("C", "j")]),
        (lambda s: s.virtual_thread("C", "j"), [primitives.VirtualThread("C", "j")]),
        (lambda s: s.eager("C", "j"), [primitives.Eager("C", "j")]),
        (lambda s: s.bind("C", "j", "threads"), [primitives.Bind("C", "j", "threads")]),
        (lambda s: s.compute_at("A", "C", "i"), [primitives.ComputeAt("A", "C", "i")]),
        (lambda s: s.compute_inline("A"), [primitives.ComputeInline("A")]),
        (lambda s: s.decompose_reduction("C", "i"), [primitives.DecomposeReduction("C", "i")]),
        (lambda s: s.rfactor("C", "k", 2), [primitives.RFactor("C", "k", 2, "")]),
        (
            lambda s: s.rfactor("C", "k", 2, "p", reassociate=True),
            [primitives.RFactor("C", "k", 2, "p", reassociate=True)],
        ),
        (lambda s: s.skip_terms("C"), [primitives.SkipTerms("C")]),
        (lambda s: s.tensorize("C", "i", EMPTY), [primitives.Tensorize("C", "i", EMPTY, None)]),
        (
            lambda s: s.tensorize("C", "i", EMPTY, START),
            [primitives.Tensorize("C", "i", EMPTY, START)],
        ),
        (
            lambda s: s.cache_read("A", ("C",), Scope.LOCAL, "a"),
            [primitives.CacheRead("A", ("C",), Scope.LOCAL, "a")],
        ),
        (
            lambda s: s.cache_read("A", ("C",), Scope.LOCAL),
            [primitives.CacheRead("A", ("C",), Scope.LOCAL, "")],
        ),
        (
            lambda s: s.cache_write("C", Scope.LOCAL, "c"),
            [primitives.CacheWrite("C", Scope.LOCAL, "c")],
        ),
        (lambda s: s.set_scope("A", Scope.LOCAL), [primitives.SetScope("A", Scope.LOCAL)]),
        (lambda s: s.set_layout("A", ("j", "i")), [primitives.SetLayout("A", ("j", "i"))]),
        (lambda s: s.multi_buffer("A", 2), [primitives.MultiBuffer("A", 2)]),
    ],
)
def test_what_methods_record(record: Callable[[Sketch], Sketch], steps: list[Primitive]) -> None:
    assert record(Sketch()).trace == tuple(steps)
    before = Sketch((Split("C", "z", 9),))
    assert record(before).trace == (Split("C", "z", 9), *steps)
    assert before.trace == (Split("C", "z", 9),)


def test_steps_for_some_settings() -> None:
    inner = Sketch().unroll("C", "j")
    found = Sketch().split("C", "i", 2).when("wide", (1, 2), inner)
    assert found.trace == (Split("C", "i", 2), When("wide", (1, 2), inner.trace))


def test_the_first_schedule() -> None:
    total = relu_of_sum()
    start = Schedule.of(total, name="f")
    assert start.trace == ()
    assert start.program.name == "f"
    assert [each.name for each in start.program.inputs] == ["a", "b"]
    assert str(start).startswith("func f(a: float32[10], b: float32[10]) -> (relu: float32[10]):\n")


def test_a_schedule_keeps_its_trace_and_is_not_changed() -> None:
    start = Schedule.of(matmul())
    text = str(start)
    split = start.split("C", "i", 3)
    assert split.trace == (Split("C", "i", 3),)
    both = split.vectorize("C", "j")
    assert both.trace == (Split("C", "i", 3), Vectorize("C", "j"))
    assert str(start) == text != str(split)
    # What is replayed is appended.
    again = split.replay((Vectorize("C", "j"),))
    assert again == both
    assert start.replay(both.trace) == both
    chosen = start.replay((Split("C", "i", knob("rows")),), {"rows": 3})
    assert chosen == split
    assert start.replay(()) == start


def test_open_knobs_are_no_numbers() -> None:
    start = Schedule.of(matmul())
    message = r"split\(C, i, .*rows.*\): rows has no value: replay the trace with a choice"
    with pytest.raises(ScheduleError, match=message):
        start.split("C", "i", knob("rows"))


@dataclass(frozen=True, slots=True)
class Break(Primitive):
    """Makes a program that is illegal."""

    name: ClassVar[str] = "break_it"

    def apply(self, program: PrimFunc) -> PrimFunc:
        lost = Store(Buffer("lost", (), FLOAT32), (), Const(0.0, FLOAT32))
        return PrimFunc(program.name, program.inputs, program.outputs, Seq((program.body, lost)))


def test_programs_that_would_be_illegal() -> None:
    start = Schedule.of(matmul())
    with pytest.raises(IRError):
        verify(Break().apply(start.program))
    with pytest.raises(ScheduleError, match=r"break_it\(\): the program would be illegal: .*lost"):
        start.then(Break())
    # The error of a trace names the step.
    with pytest.raises(ScheduleError, match=r"break_it\(\): the program would be illegal: .*lost"):
        start.replay((Split("C", "i", 3), Break(), Vectorize("C", "j")))
