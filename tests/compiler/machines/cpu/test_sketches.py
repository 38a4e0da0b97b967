"""Sketches on a CPU: what is refused, and kernels that records of sketches schedule."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from tandem.compiler.errors import CodegenError, ReplayError
from tandem.compiler.ir import interpreter
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tandem.compiler.machines.cpu.sketches import LowerSketch, rules_of, sketched
from tandem.compiler.te.build import program_of
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.sketches.computation import Computation
from tandem.compiler.tune.sketches.evolution import Breeder
from tests.support.compiler.te.schedules import matmul, random_inputs

HOST = CpuTarget.host(threads=1)


def test_rules_are_the_processor_s() -> None:
    computation = Computation.of(program_of([matmul()]), reassociate=True)
    found = rules_of(replace(HOST, threads=3), computation)
    assert (found.register_bits, found.registers) == (HOST.register_bits, HOST.registers)
    assert (found.threads, found.reassociate) == (3, True)


def test_what_is_too_long_is_refused() -> None:
    start = Schedule.of(matmul(64, 64, 64))
    lower = LowerSketch(HOST, frozenset())
    lower(start)
    long = start.unroll("C", "i").unroll("C", "j")
    with pytest.raises(CodegenError, match=r"writes out \d+ statements: 1024 are allowed"):
        lower(long)


@pytest.mark.parametrize("seed", range(6))
def test_kernels_of_records(seed: int) -> None:
    """Constants are packed by programs of their own, and the results are the interpreter's."""
    computation = Computation.of(program_of([matmul(24, 40, 16)]), (1,))
    start, rules = computation.start(), rules_of(HOST, computation)
    rng = random.Random(seed)
    sketch = Breeder(start, rules, computation.constant_names, rng).sample()
    assert sketch is not None
    found = sketched(computation, sketch.trace.choice, HOST)
    a, b = random_inputs(start.program, seed)
    arrays = {"a0": a, "a1": b}
    for packing in found.packings:
        (packed,) = compile_function(packing, HOST)(b)
        arrays[packing.outputs[0].name] = np.asarray(packed)
    (result,) = compile_function(found.program, HOST)(
        *(arrays[each.name] for each in found.program.inputs)
    )
    (wanted,) = interpreter.run(start.program, [a, b])
    np.testing.assert_array_equal(result, wanted)


def test_decisions_of_something_else_are_refused() -> None:
    computation = Computation.of(program_of([matmul()]))
    with pytest.raises(ReplayError, match=r"the trace does not decide"):
        sketched(computation, {"s7.lanes": "i0"}, HOST)
