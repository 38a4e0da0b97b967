"""The word of PAR that holds the parameters of requantisation of one output channel."""

ADDEND_BITS = 32
"""Signed; in the low bits."""
MULTIPLIER_BITS = 16
"""Unsigned; above the addend."""
SHIFT_BITS = 5
"""Above the multiplier; what is left of the word is unused."""
