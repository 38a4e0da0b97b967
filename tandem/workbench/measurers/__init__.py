"""Measurers: the cost of a choice, on the engine `cycle` and on this processor."""
