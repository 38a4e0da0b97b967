"""Decoders: models that make text, calibrated and compiled as two functions.

What compiles is imported from its module, so that artifacts run without the compiler's libraries.
"""
