"""Targets as values: their memories."""

from __future__ import annotations

from compiler.ir.buffer import Scope
from compiler.ir.dtypes import INT8, INT32
from compiler.machines.accelerator.intrinsics.scopes import OnChip
from compiler.machines.accelerator.target import TEMPLATES, accelerator
from compiler.machines.cpu.codegen import CpuTarget
from compiler.machines.cpu.target import cpu
from compiler.plan.target import Memory
from hw.topology import MemoryId
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine


def test_memories_of_the_accelerator() -> None:
    """As wide and as deep as the configuration says."""
    config = machine("batch2")
    memories = {each.scope: each for each in accelerator(config).memories}
    assert memories[OnChip.WGT] == Memory(
        OnChip.WGT,
        (config.block_out, config.block_in),
        INT8,
        config.depth(MemoryId.WGT),
        ("load",),
        ("compute",),
    )
    acc = memories[OnChip.ACC]
    assert (acc.element, acc.dtype) == ((config.batch, config.block_out), INT32)
    assert (acc.capacity, acc.written_by) == (config.depth(MemoryId.ACC), ("compute",))
    assert acc.read_by == ("compute", "store")
    assert memories[Scope.GLOBAL].capacity is None
    host = cpu(CpuTarget.host(threads=1))
    assert [each.scope for each in host.memories] == [Scope.GLOBAL, Scope.LOCAL]


def test_equal_machines_are_equal_targets() -> None:
    one, other = accelerator(machine("tiny")), accelerator(machine("tiny"))
    assert one == other
    assert hash(one) == hash(other)
    assert one != accelerator(machine("small8"))
    assert one != accelerator(machine("tiny"), hiding=False)


def test_templates_have_names_and_patterns() -> None:
    names = [each.name for each in TEMPLATES]
    assert len({*names}) == len(names) == 8
    assert all(each.patterns for each in TEMPLATES)
