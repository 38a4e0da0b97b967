"""Readers of models that others made."""
