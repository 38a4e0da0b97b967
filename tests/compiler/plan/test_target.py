"""Targets as values."""

from __future__ import annotations

from tandem.compiler.machines.accelerator.target import TEMPLATES, accelerator
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine


def test_equal_machines_are_equal_targets() -> None:
    one, other = accelerator(machine("tiny")), accelerator(machine("tiny"))
    assert one == other
    assert hash(one) == hash(other)
    assert one != accelerator(machine("small8"))
    assert one != accelerator(machine("tiny"), hiding=False)


def test_templates_have_names_and_patterns() -> None:
    names = [each.name for each in TEMPLATES]
    assert len({*names}) == len(names) == 9
    assert all(each.patterns for each in TEMPLATES)
