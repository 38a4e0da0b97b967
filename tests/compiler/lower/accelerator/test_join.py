"""Addresses of operators that are joined."""

from __future__ import annotations

import pytest

from compiler.errors import LoweringError
from compiler.lower.accelerator.join import join
from compiler.lower.accelerator.programs import ProgramCache
from compiler.lower.accelerator.residency import KernelStore
from compiler.target import AcceleratorTarget
from tests.support.clip_operators import clip
from tests.support.invocations import TINY

TARGET = AcceleratorTarget.of(TINY)


def test_tensors_where_no_element_begins_are_refused() -> None:
    program = ProgramCache(TARGET).elaborated(clip().program, from_top=False)
    message = "^S lies at 0x42, no multiple of the 4 bytes of an element of ACC_8BIT$"
    with pytest.raises(LoweringError, match=message):
        join([(clip(), program)], [{"S": 66, "D": 256}], KernelStore(), 0, TINY)
