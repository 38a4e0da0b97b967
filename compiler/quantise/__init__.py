"""Quantisation: calibration, and rewriting of float networks to integer networks."""
