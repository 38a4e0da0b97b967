"""Simulators of the accelerator: several engines with one interface."""
