"""Kernels for the accelerator: from a graph's operators to instruction streams."""
