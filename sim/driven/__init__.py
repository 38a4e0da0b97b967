"""Machines as drivers see them: registers, memory and an interrupt, with an engine behind."""
