"""Explorers: which choices of a space to measure next."""
