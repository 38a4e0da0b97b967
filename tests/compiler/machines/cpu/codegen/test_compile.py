"""Object code of a program for a processor: its header, its threads, its constants."""

from __future__ import annotations

import pytest

from tandem.compiler.ir.parser import parse
from tandem.compiler.machines.cpu.codegen import emit_object
from tandem.compiler.machines.cpu.codegen.compile import emit_assembly
from tandem.compiler.machines.cpu.processors import PROCESSORS
from tandem.runtime.native import Parameter
from tests.support.compiler.machines.cpu.native import HOST

PROGRAM = """
func scaled(x: float32[4], y: int32[3, 4]) -> (z: int8[4], w: int32[3, 4]):
  alloc s: float32[]
  s[] = 0.02
  for i in 4:
    z[i] = int8(int32(min(max(round(x[i] / s[]), -128.0), 127.0)))
  for r in 3 parallel:
    alloc t: int32[4]
    for k in 4:
      t[k] = y[r, 3 - k]
    for j in 4:
      w[r, j] = t[j] * t[0]
"""
DIVISIONS = ("__divsf3", "__aeabi_fdiv")


@pytest.mark.parametrize(
    ("name", "threads"), [("host", True), ("cortex-a72", True), ("rv32im", False)]
)
def test_the_header(name: str, threads: bool) -> None:
    """Loops are for threads where a system has some."""
    target = HOST if name == "host" else PROCESSORS[name]
    found = emit_object(parse(PROGRAM), target)
    assert (found.name, found.parallel) == ("scaled", threads)
    assert (found.triple, found.features) == (target.triple, target.features)
    assert found.parameters == (
        Parameter("x", (4,), "float32"),
        Parameter("y", (3, 4), "int32"),
        Parameter("z", (4,), "int8"),
        Parameter("w", (3, 4), "int32"),
    )
    assert (found.inputs, found.outputs) == (("x", "y"), ("z", "w"))


def test_constants_are_in_place_where_floats_are_computed_by_integers() -> None:
    """A division by a scale in a buffer would call a function for floats."""
    for name in ("rv32im", "rv32imc"):
        assembly = emit_assembly(parse(PROGRAM), PROCESSORS[name])
        assert not any(each in assembly for each in DIVISIONS)
    variable = PROGRAM.replace("s[] = 0.02", "s[] = x[0]")
    assert any(each in emit_assembly(parse(variable), PROCESSORS["rv32im"]) for each in DIVISIONS)
    assert not any(each in emit_assembly(parse(variable), HOST) for each in DIVISIONS)


def test_a_serial_program_has_no_threads() -> None:
    serial = PROGRAM.replace(" parallel", "")
    assert not emit_object(parse(serial), HOST).parallel
