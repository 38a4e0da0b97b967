"""Targets: machines as values, what they take of a graph, and the steps that they make of it."""
