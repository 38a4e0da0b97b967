"""Lowering of scheduled programs to the accelerator's instruction stream."""

from tandem.compiler.machines.accelerator.lower.dram_layout import Operator
from tandem.compiler.machines.accelerator.lower.programs import ProgramCache
from tandem.compiler.machines.accelerator.lower.stream import Stream, compile_stream

__all__ = ["Operator", "ProgramCache", "Stream", "compile_stream"]
