"""Quantisation-aware training: networks in real numbers that round as their integers will."""
