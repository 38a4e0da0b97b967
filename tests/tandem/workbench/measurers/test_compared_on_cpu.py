"""Default and tuned choices, compared: which are run, on what, and whose times are whose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pytest

from tandem.compiler.driver.compile_onnx import PreparedNetwork
from tandem.compiler.errors import ReplayError
from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.plan.target import Target
from tandem.compiler.te import compute, placeholder, reduce_axis, sum
from tandem.compiler.te.build import program_of
from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.best_known import BestKnown
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.sketches.computation import Computation
from tandem.compiler.tune.trial import Status
from tandem.runtime.artifact import Artifact
from tandem.workbench.measurers import compared_on_cpu
from tandem.workbench.measurers.compared_on_cpu import ROUNDS, ComparedOnCpu, compared_alone
from tandem.workbench.measurers.on_cpu import MeasuredLayer, Seconds
from tandem.workbench.measurers.sketches_on_cpu import SketchTask, layer_of, sketch_task
from tests.support.runtime.artifacts import compiled

HOST = CpuTarget.host(threads=1)
CHOICE: Choice = {"s0.lanes": "i0"}
RECORD = Record(
    tandem="1",
    target="cpu",
    machine={},
    memory="",
    template="sketches",
    workload="w",
    choice=CHOICE,
    status=Status.MEASURED,
    cost=1.0,
    explorer="drawn",
    seed=0,
)


def task() -> SketchTask:
    a, k = placeholder((3, 8), FLOAT32, "a"), reduce_axis(8, "k")
    program = program_of([compute((3,), lambda i: sum(a[i, k], k), "t")])
    return sketch_task(HOST, ["t"], Computation.of(program))


@dataclass
class Prepared:
    """A network that notes for which targets it is built."""

    targets: list[Target[Any]] = field(default_factory=list)

    def build(self, targets: Sequence[Target[Any]]) -> Artifact:
        self.targets += targets
        return compiled()


def compared(prepared: Prepared, seed: int = 3) -> ComparedOnCpu:
    return ComparedOnCpu(cast(PreparedNetwork, prepared), HOST, seed)


def test_a_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def alternate(layer: MeasuredLayer, choices: Sequence[Choice], rounds: int) -> Seconds:
        asked.append((layer, choices, rounds))
        return np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    monkeypatch.setattr(compared_on_cpu, "alternate", alternate)
    one = task()
    for times in (compared(Prepared()).layer(one, CHOICE), compared_alone(HOST)(one, CHOICE)):
        assert times == ([1.0, 3.0, 5.0], [2.0, 4.0, 6.0])
    assert asked == [(layer_of(HOST, one), [one.default, CHOICE], 15)] * 2
    assert ROUNDS == 15


def test_a_choice_that_cannot_be_compiled() -> None:
    with pytest.raises(ReplayError, match=r"the trace decides s7\.lanes, which nothing asks for"):
        compared_alone(HOST)(task(), {"s7.lanes": "i0"})


def test_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []

    def alternated(calls: Sequence[Callable[[], Any]], threads: int, rounds: int) -> Seconds:
        found.append(([call() for call in calls], threads, rounds))
        return np.array([[1.0, 2.0], [3.0, 4.0]])

    monkeypatch.setattr(compared_on_cpu, "alternated", alternated)
    prepared = Prepared()
    assert compared(prepared).network([RECORD]) == ([1.0, 3.0], [2.0, 4.0])
    tuned = [target.tuned for target in prepared.targets]
    assert [type(each) for each in tuned] == [BestKnown, BestKnown]
    default, records = (cast(BestKnown, each)._choices for each in tuned)
    assert (default, [*records.values()]) == ({}, [CHOICE])
    assert [target.machine for target in prepared.targets] == [HOST, HOST]
    ((runs, threads, rounds),) = found
    assert (threads, rounds) == (1, 15)
    # Both ran on the same noise, which another seed's is not.
    one, other = ([*map(np.asarray, run.outputs.values())] for run in runs)
    assert all(np.array_equal(*pair) for pair in zip(one, other, strict=True))
    compared(Prepared(), seed=4).network([])
    again = [*map(np.asarray, found[1][0][0].outputs.values())]
    assert not all(np.array_equal(*pair) for pair in zip(one, again, strict=True))
