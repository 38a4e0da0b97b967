"""Machines as drivers see them: registers, memory and an interrupt, with an engine behind."""

from tandem.sim.driven.machine import DrivenMachine, drive

__all__ = ["DrivenMachine", "drive"]
