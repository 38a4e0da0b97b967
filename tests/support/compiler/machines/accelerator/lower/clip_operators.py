"""A small operator of the accelerator: a clip of int8 values."""

from __future__ import annotations

from tandem.compiler.ir.parser import parse
from tandem.compiler.machines.accelerator.lower.dram_layout import Operator
from tests.support.compiler.machines.accelerator.lower.invocations import INTRINSICS


def clip(name: str = "clip", *, source: str = "S", result: str = "D", rows: int = 3) -> Operator:
    """`max(S, -7)`, with tensors of these names."""
    program = f"""
func {name}(S: int8[{rows}, 1, 4]) -> (D: int8[{rows}, 1, 4]):
  alloc a: int32[{rows}, 1, 4] @ acc
  for i in {rows}:
    for l in 4:
      a[i, 0, l] = int32(S[i, 0, l])
  for j in {rows}:
    invoke alu_max_imm_m7(a[j :+ 1, 0 :+ 1, 0 :+ 4], a[j :+ 1, 0 :+ 1, 0 :+ 4])
  for m in {rows}:
    for n in 4:
      D[m, 0, n] = int8(a[m, 0, n])
"""
    return Operator(parse(program, INTRINSICS), {"S": source, "D": result})
