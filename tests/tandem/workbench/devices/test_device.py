"""Devices as values: their records, and the schedules that they prefer."""

from __future__ import annotations

import pickle

import pytest

from tandem.compiler.machines.accelerator.recorded import recorded_accelerator
from tandem.compiler.plan.schedule_template import Arguments
from tandem.compiler.tune.recorded import Proposer
from tandem.compiler.tune.tasks import Task
from tandem.compiler.tune.trial import Outcome
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.workbench.devices import Accelerator, Cpu, TargetDevice
from tests.support.compiler.tune.tuning import candidates

TINY = Accelerator(load_config("tiny"), parse_memory("edge"))
DEVICES = (TINY, Accelerator(load_config("small8"), parse_memory("edge")), Cpu(1), Cpu(2))


def task() -> Task:
    space = candidates()
    return Task(("a",), space.target, space.template, "w", Arguments(), {"x": 0})


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)
def test_records_are_of_one_device(device: TargetDevice) -> None:
    by = Proposer("grid", 0)
    records = [
        other.identity(task()).record({"x": 1}, Outcome.measured(7), 9, by) for other in DEVICES
    ]
    own = records[DEVICES.index(device)]
    assert device.own_records(records) == (own,)
    assert own.target == device.kind
    tuned = device.best_of(records).tuned
    assert tuned is not None
    assert tuned.choice(task().template, "w") == {"x": 1}


def test_a_record_names_the_target() -> None:
    assert parse_memory(TINY.memory_record) == TINY.memory
    assert recorded_accelerator(TINY.machine_record, TINY.memory_record) == TINY.target()


def test_a_device_is_a_value() -> None:
    assert pickle.loads(pickle.dumps(DEVICES)) == DEVICES
    assert TINY.with_tuned(None) == TINY
    assert [len(device.targets()) for device in DEVICES] == [2, 2, 1, 1]
