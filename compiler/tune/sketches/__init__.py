"""Sketches: schedules that are generated from tensor expressions, without templates."""
