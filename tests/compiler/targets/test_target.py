"""Targets as values: their memories, and layouts that change nothing."""

from __future__ import annotations

from compiler.codegen import CpuTarget
from compiler.graph import Call, Let, Var
from compiler.graph.operators import OPERATORS
from compiler.intrinsics.scopes import OnChip
from compiler.ir.buffer import Scope
from compiler.ir.dtypes import INT8, INT32
from compiler.targets.accelerator.target import TEMPLATES, accelerator
from compiler.targets.cpu.target import cpu
from compiler.targets.target import InPlace, Memory
from compiler.templates.pattern import Match
from hw.memories import MemoryId
from tests.support.accelerator_operators import machine


def test_memories_of_the_accelerator() -> None:
    """As wide and as deep as the configuration says."""
    config = machine("batch2")
    target = accelerator(config)
    assert target.memory(OnChip.WGT) == Memory(
        OnChip.WGT,
        (config.block_out, config.block_in),
        INT8,
        config.depth(MemoryId.WGT),
        ("load",),
        ("compute",),
    )
    acc = target.memory(OnChip.ACC)
    assert acc is not None
    assert (acc.element, acc.dtype) == ((config.batch, config.block_out), INT32)
    assert (acc.capacity, acc.written_by) == (config.depth(MemoryId.ACC), ("compute",))
    assert acc.read_by == ("compute", "store")
    dram = target.memory(Scope.GLOBAL)
    assert dram is not None
    assert dram.capacity is None


def test_scopes_that_a_machine_does_not_have() -> None:
    assert accelerator(machine("tiny")).memory(Scope.LOCAL) is None
    host = cpu(CpuTarget.host(threads=1))
    assert host.memory(OnChip.INP) is None
    assert host.memory(Scope.LOCAL) is not None


def test_equal_machines_are_equal_targets() -> None:
    one, other = accelerator(machine("tiny")), accelerator(machine("tiny"))
    assert one == other
    assert hash(one) == hash(other)
    assert one != accelerator(machine("small8"))
    assert one != accelerator(machine("tiny"), hiding=False)


def test_templates_have_names_and_patterns() -> None:
    names = [each.name for each in TEMPLATES]
    assert len({*names}) == len(names) == 6
    assert all(each.patterns for each in TEMPLATES)


def test_tensors_as_they_lie() -> None:
    let = Let("y", Call(OPERATORS["relu"], (Var("x"),)))
    found = InPlace().rewritten(None, Match((let,), {}), {}, set(), from_host=True)
    assert found.lets == found.inside == (let,)
    assert found.outside == ()
