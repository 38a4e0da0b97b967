"""Targets: machines as values, and the back ends that compile parts of a graph for a machine."""
