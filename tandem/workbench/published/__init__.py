"""Figures that others published of comparable systems, each with its conditions and its source."""
