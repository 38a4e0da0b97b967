"""Tandem as a library: what its command line does, for programs in Python."""
