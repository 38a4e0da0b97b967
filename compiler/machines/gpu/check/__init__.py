"""Proofs over launches: no races on memory, and no barrier that only some threads reach."""
