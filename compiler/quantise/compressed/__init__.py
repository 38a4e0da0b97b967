"""Compressed weights: rounding to codes of few bits with integer scales of groups."""
