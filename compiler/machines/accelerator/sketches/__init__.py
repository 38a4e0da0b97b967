"""Sketches on the accelerator: spaces and schedules that are found in tensor expressions."""
