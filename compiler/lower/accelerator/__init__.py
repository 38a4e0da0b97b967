"""Lowering of scheduled programs to the accelerator's instruction stream."""

from compiler.lower.accelerator.dram_layout import Operator
from compiler.lower.accelerator.programs import ProgramCache
from compiler.lower.accelerator.stream import Stream, compile_stream

__all__ = ["Operator", "ProgramCache", "Stream", "compile_stream"]
