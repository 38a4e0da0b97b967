"""`tandem.Cpu`: this processor, and a typed error for any other."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    ("arguments", "options", "named"),
    [
        (("aarch64-linux-gnu",), {}, "'aarch64-linux-gnu'"),
        (("aarch64-linux-gnu",), {"cpu": "cortex-a72"}, "'aarch64-linux-gnu', cpu='cortex-a72'"),
        ((), {"cpu": "cortex-a72", "threads": 2}, "cpu='cortex-a72'"),
    ],
)
def test_no_other_processor(arguments: Any, options: Any, named: str) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        tandem.Cpu(*arguments, **options)
    assert isinstance(caught.value, TypeError)
    assert str(caught.value).startswith(f"Cpu({named}): this version compiles for this processor")


def test_threads() -> None:
    with pytest.raises(ArgumentValueError, match="threads is 0: it must be 1 or more"):
        tandem.Cpu(threads=0)
    with pytest.raises(ArgumentTypeError, match="threads is 'all': it must be a whole number"):
        tandem.Cpu(threads="all")  # type: ignore[arg-type]
