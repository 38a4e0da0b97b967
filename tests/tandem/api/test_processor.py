"""`tandem.Cpu`: this processor, and a typed error for any other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import tandem
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError


def test_a_processor_is_a_value() -> None:
    assert tandem.Cpu() == tandem.Cpu(threads=None)
    assert tandem.Cpu(threads=2) != tandem.Cpu()
    assert len({tandem.Cpu(threads=2), tandem.Cpu(threads=2)}) == 1
    assert repr(tandem.Cpu(threads=2)) == "Cpu(threads=2)"
    with pytest.raises(AttributeError):
        tandem.Cpu().threads = 2  # type: ignore[misc]


def test_other_processors() -> None:
    """By name, or as LLVM calls them."""
    assert repr(tandem.Cpu("cortex-a72", threads=4)) == "Cpu('cortex-a72', threads=4)"
    named, spelled = (
        processor.other()
        for processor in (
            tandem.Cpu("neoverse-n1"),
            tandem.Cpu("aarch64-unknown-linux-gnu", cpu="neoverse-n1", features=["dotprod"]),
        )
    )
    assert named is not None
    assert spelled is not None
    # What nobody has tried is compiled in a process of its own.
    assert (named.proven, spelled.proven) == (True, False)
    assert named == replace(spelled, proven=True)
    assert tandem.Cpu().other() is None


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("cortex-a73",), {}, "no processor 'cortex-a73': there are cortex-a53, .*; did you mean"),
        (("armeb-none-eabi",), {}, "armeb-none-eabi is big-endian"),
        (("sparc-unknown-linux-gnu",), {}, "no code for sparc-unknown-linux-gnu: the architec"),
        ((3,), {}, "processor is 3: it must be None, a name or a triple"),
        ((), {"cpu": "cortex-a72"}, "processor is None: it must be a triple, with cpu and"),
        (("cortex-a72",), {"fpu": False}, "no code for cortex-a72 without its FPU"),
        ((), {"fpu": False}, "processor is None: it must be one that is made without an FPU"),
        (("cortex-a72",), {"features": [1]}, "a name of features is 1: it must be a str"),
    ],
)
def test_no_other_processor(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(tandem.Error, match=message):
        tandem.Cpu(*arguments, **options)


def test_schedules_are_measured_here() -> None:
    with pytest.raises(ArgumentValueError, match="measured on this processor, and cortex-a72 is"):
        tandem.tune("dqn-tiny", tandem.Cpu("cortex-a72"), trials=1)


def test_threads() -> None:
    with pytest.raises(ArgumentValueError, match="threads is 0: it must be 1 or more"):
        tandem.Cpu(threads=0)
    with pytest.raises(ArgumentTypeError, match="threads is 'all': it must be a whole number"):
        tandem.Cpu(threads="all")  # type: ignore[arg-type]
