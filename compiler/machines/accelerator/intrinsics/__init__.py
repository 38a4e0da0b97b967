"""Tensor intrinsics: the behaviour of tensor instructions, as programs of the loop language."""
