"""Which operands an instruction has, inside compiled code."""

from __future__ import annotations

from tandem.base.jit import inlined
from tandem.hw.isa.operand_use import operands_used

operands_used_inline = inlined(operands_used)
"""`operands_used` of a row of fields."""
