"""Lowering of scheduled programs to the accelerator's instruction stream."""

from compiler.lower.accelerator.stream import Operator, ProgramCache, Stream, compile_stream

__all__ = ["Operator", "ProgramCache", "Stream", "compile_stream"]
