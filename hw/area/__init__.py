"""Chip area of a configuration: one number, in NAND2 equivalents."""
