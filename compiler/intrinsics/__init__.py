"""Tensor intrinsics: what tensor instructions do, as programs of the loop language."""
