"""Simulators: one interface, several engines."""
