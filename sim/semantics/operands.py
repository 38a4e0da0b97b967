"""Which operands an instruction has, inside compiled code."""

from __future__ import annotations

from base.jit import inlined
from hw.isa.operand_use import operands_used

operands_used_inline = inlined(operands_used)
"""`operands_used` of a row of fields."""
