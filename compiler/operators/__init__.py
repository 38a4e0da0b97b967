"""Operators: what they compute, as tensor expressions, with the meaning that ONNX gives them.

An operator is a function from tensors and attributes to a tensor called `name`; what it needs on
the way is called `{name}_pad`, `{name}_sum` and so on, so that any number of operators can stand in
one program. How they run is said elsewhere: for the CPU, in `cpu`.
"""
