"""Definitions of operators as tensor expressions, with ONNX's semantics.

An operator is a function from tensors and attributes to a tensor named `name`; intermediate stages
are named `{name}_pad`, `{name}_sum` and so on, so that names are unique within a program of many
operators. `cpu` has schedules for the CPU.
"""
