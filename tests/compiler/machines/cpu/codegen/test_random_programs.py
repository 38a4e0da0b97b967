"""Random programs: native code and the interpreter agree to the last bit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.machines.cpu.codegen import CpuTarget
from tests.support.compiler.ir.ir_strategies import arrays, functions
from tests.support.compiler.machines.cpu.native import EXACT, same_as_interpreter

TARGETS = [EXACT, replace(EXACT, threads=2), EXACT.without("avx")]


@pytest.mark.parametrize("target", TARGETS, ids=["one thread", "two threads", "128 bits"])
@settings(max_examples=20)
@given(st.data())
def test_some(target: CpuTarget, data: st.DataObject) -> None:
    check(target, data)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", TARGETS, ids=["one thread", "two threads", "128 bits"])
@settings(max_examples=2000)
@given(st.data())
def test_many(target: CpuTarget, data: st.DataObject) -> None:
    check(target, data)


def check(target: CpuTarget, data: st.DataObject) -> None:
    function = data.draw(functions(exact=True, invokes=False))
    same_as_interpreter(function, data.draw(arrays(function)), target)
