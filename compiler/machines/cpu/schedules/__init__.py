"""Schedules of operators for the CPU."""
