"""Schedules of operators on a GPU."""
