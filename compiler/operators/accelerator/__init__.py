"""Operators in the accelerator's layouts, and their schedules."""
