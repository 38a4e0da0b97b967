"""Devices that models are compiled for, tuned for and measured on, as values."""

from tandem.workbench.devices.accelerator import Accelerator
from tandem.workbench.devices.cpu import Cpu
from tandem.workbench.devices.device import TargetDevice

__all__ = ["Accelerator", "Cpu", "TargetDevice"]
