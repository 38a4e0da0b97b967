"""Object code of a program for a processor: its header, its threads, its constants."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.stmt import For, LoopKind, PrimFunc
from tandem.compiler.ir.visit import rewrite
from tandem.compiler.lower.lowering import LOOP_PASSES
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


@dataclass(frozen=True, slots=True)
class WithoutThreads:
    """A pass that makes parallel loops serial ones."""

    name: str = "without threads"

    def apply(self, function: PrimFunc) -> PrimFunc:
        return replace(
            function,
            body=rewrite(
                function.body,
                lambda stmt: replace(stmt, kind=LoopKind.SERIAL) if isinstance(stmt, For) else stmt,
            ),
        )


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


def test_equal_programs_are_compiled_once() -> None:
    """With another name, constant, processor or pass, it is another program."""
    program = parse(PROGRAM)
    first = emit_object(program, HOST)
    assert emit_object(parse(PROGRAM), HOST) is first
    others = (
        emit_object(replace(program, name="other"), HOST),
        emit_object(parse(PROGRAM.replace("0.02", "-0.02")), HOST),
        emit_object(program, PROCESSORS["cortex-a72"]),
        emit_object(program, HOST, (*LOOP_PASSES, WithoutThreads())),
    )
    assert all(first != each for each in others)
    assert emit_object(program, HOST, streamed=["y"]) is not first


def test_zeros_of_both_signs_are_of_different_programs() -> None:
    """0.0 equals -0.0 in Python, and a quotient by the one is not that by the other."""
    text = "func signs(x: float32[4]) -> (z: float32[4]):\n  for i in 4:\n    z[i] = x[i] / {}\n"
    codes = {emit_object(parse(text.format(zero)), HOST).code for zero in ("0.0", "-0.0")}
    assert len(codes) == 2
