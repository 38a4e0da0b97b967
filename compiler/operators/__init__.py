"""Definitions of operators as tensor expressions, with ONNX's semantics.

An operator is a function from tensors and attributes to a tensor called `name`; intermediate stages
are called `{name}_pad`, `{name}_sum` and so on, so that one program can hold any number of
operators. `cpu` has schedules for the CPU.
"""
