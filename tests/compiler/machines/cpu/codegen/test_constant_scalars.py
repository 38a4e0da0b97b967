"""Constants in buffers of one element, read as constants."""

from __future__ import annotations

from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.printer import text
from tandem.compiler.machines.cpu.codegen.constant_scalars import inline_constants

PROGRAM = """
func f(x: float32[4]) -> (y: float32[4]):
  alloc s: float32[]
  alloc z: int8[]
  s[] = 0.5
  z[] = 3
  for i in 4:
    y[i] = max(x[i] / s[], -128.0 - float32(z[]))
"""


def test_they_are_computed() -> None:
    found = text(inline_constants(parse(PROGRAM)))
    assert found.splitlines()[-1].strip() == "y[i] = max(x[i] / 0.5, -131.0)"


def test_what_is_stored_twice_or_in_more_elements_stays() -> None:
    twice = PROGRAM.replace("  z[] = 3\n", "  z[] = 3\n  z[] = 4\n")
    assert "float32(z[])" in text(inline_constants(parse(twice)))
    many = PROGRAM.replace("s: float32[]", "s: float32[1]").replace("s[]", "s[0]")
    assert "x[i] / s[0]" in text(inline_constants(parse(many)))
    none = parse("func f(x: float32[4]) -> (y: float32[4]):\n  for i in 4:\n    y[i] = x[i]\n")
    assert inline_constants(none) is none
